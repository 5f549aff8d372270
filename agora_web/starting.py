"""`manage.py up`: what is started in which order. Knows the settings, but loads no Django of its own."""

import http.client
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from django.conf import settings

from agora_web.database import Stage, bootstrap_server, stage
from agora_web.local.bootstrap import bootstrap
from agora_web.local.errors import LocalServiceError
from agora_web.local.paths import LocalPaths
from agora_web.local.postgres import EmbeddedPostgres
from agora_web.local.preflight import problems
from agora_web.local.processes import StopRule
from agora_web.local.running import no_command_at_work
from agora_web.local.supervisor import ChildEnded, EndRequested, Supervisor
from agora_web.local.valkey import EmbeddedValkey

WEB_GRACE_S = 2
WEB_RULE = StopRule(grace_s=WEB_GRACE_S + 0.2)  # uvicorn's own limit first
CELERY_RULE = StopRule(grace_s=1.5)  # jobs are leased: one cut short runs again
LLM_RULE = StopRule(grace_s=0.5)
# The workers' imports take seconds of both cores of a laptop: the first page comes before them.
FIRST_PAGE_S = 1.5
# Holds a message of 1 MiB in JSON escapes: it is refused with a sentence, not with a closed socket.
FRAME_BYTES = 4 * 1024 * 1024


class Printer(Protocol):
    """Where a person reads: a stream of the process, or Django's around one."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


def up(out: Printer, err: Printer) -> int:
    """Start everything, stay until Ctrl-C; returns the exit code. What stands against it is said in sentences."""
    told = settings.AGORA
    paths = LocalPaths(told.home)
    found = problems(
        paths,
        told.host,
        told.port,
        postgres=told.database_url is None,
        valkey=told.redis_url is None,
        llm=told.llm_base_url is None,
    )
    code = 1
    try:
        if not found:
            with Supervisor(paths) as supervisor:
                run(supervisor, out)
    except EndRequested:
        found, code = ["AGORA has ended."], 0
    except ChildEnded as error:
        found, code = [error.sentence], error.exit_code
    except LocalServiceError as error:
        found = [error.sentence]
    err.write("\n".join(found) + "\n")
    err.flush()
    return code


def run(supervisor: Supervisor, out: Printer) -> None:
    """Start all, say the address, watch until a signal or a child's end is raised."""
    told = settings.AGORA
    here = Path(settings.BASE_DIR)
    with no_command_at_work(supervisor.paths):
        # First of all: its imports take longest and need no database. Until that is up it answers 503.
        supervisor.start("web", web_argv(told.host, told.port), stop_rule=WEB_RULE, cwd=here)
        start_services(supervisor)
    if stage("owner") is not Stage.READY:
        made = made_at_first()
        if made:
            out.write(f"{made}\n")
    supervisor.wait_until(lambda: is_ready(told.host, told.port), 60.0, "The web server")
    shown = "localhost" if told.host in ("0.0.0.0", "::") else told.host
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{told.port}/"
    supervisor.announce(address)
    out.write(f"AGORA is ready at {address}\n")
    out.flush()
    supervisor.stay(FIRST_PAGE_S)
    for name, words in celery_commands():
        supervisor.start(name, [*python("celery"), *words], stop_rule=CELERY_RULE, cwd=here)
    if told.llm_base_url is None:
        argv = [*python("agora_web.local.llm_server"), "--home", str(told.home)]
        supervisor.start("llm", argv, stop_rule=LLM_RULE, cwd=here)
    supervisor.watch()


def start_services(supervisor: Supervisor) -> None:
    """Start the embedded services that no setting replaces, and prepare the database's roles and extension."""
    told = settings.AGORA
    if told.database_url is None:
        postgres = EmbeddedPostgres(supervisor.paths)
        supervisor.adopt(postgres.start)
        bootstrap(postgres.conninfo(), settings.DATABASES["owner"]["NAME"])
    else:
        bootstrap_server(told.database_url)
    if told.redis_url is None:
        supervisor.adopt(EmbeddedValkey(supervisor.paths).start)


def python(module: str) -> list[str]:
    """This interpreter, running a module."""
    return [sys.executable, "-m", module]


def web_argv(host: str, port: int) -> list[str]:
    """uvicorn's command line."""
    return [
        *python("uvicorn"),
        "agora_web.asgi:application",
        *("--host", host),
        *("--port", str(port)),
        *("--timeout-graceful-shutdown", str(WEB_GRACE_S)),
        *("--ws-max-size", str(FRAME_BYTES)),
        *("--log-level", "warning"),
    ]


def celery_commands() -> Iterable[tuple[str, list[str]]]:
    """Name and words of each Celery process."""
    app = ["-A", "agora_web.celery"]
    lean = ["--without-gossip", "--without-mingle", "--loglevel", "INFO"]
    yield "worker", [*app, "worker", "-Q", "default", "-c", "1", "-n", "default@%h", *lean]
    yield "training", [*app, "worker", "-Q", "training", "-c", "1", "-n", "training@%h", *lean]
    scheduler = "agora_web.beat:SeedingScheduler"
    yield "beat", [*app, "beat", "--scheduler", scheduler, "--pidfile", "", "--loglevel", "INFO"]


def made_at_first() -> str:
    """Let `manage.py first_run` make tables and what a first start needs; returns what it has to say.

    A process of its own: it loads the encoder, which is deaf to signals while it computes and would stay in memory.
    A signal ends it at once, and it leaves nothing half made.
    """
    argv = [sys.executable, str(Path(settings.BASE_DIR) / "manage.py"), "first_run"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, start_new_session=True)
    if done.returncode:
        raise LocalServiceError(f"The first start could not be completed:\n{done.stderr[-2000:].strip()}")
    return done.stdout.strip()


def is_ready(host: str, port: int) -> bool:
    """Whether /ready answers 200."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    connection = http.client.HTTPConnection(reachable, port, timeout=5.0)
    try:
        connection.request("GET", "/ready", headers={"Host": "localhost"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
