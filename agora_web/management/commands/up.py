"""`manage.py up`: everything AGORA needs, from one command, until Ctrl-C."""

import http.client
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connections
from django.db.migrations.executor import MigrationExecutor

from agora_web import first_run
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
# Holds a message of 1 MiB in JSON escapes: it is refused with a sentence, not with a closed socket.
FRAME_BYTES = 4 * 1024 * 1024


class Command(BaseCommand):
    """Thin: reads the settings and says in which order; `agora_web.local` does it."""

    help = "Start AGORA: embedded services that no setting replaces, web, workers, beat and the demo LLM."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def handle(self, *args: object, **options: object) -> None:
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
        if found:
            raise CommandError("\n".join(found))
        try:
            with Supervisor(paths) as supervisor:
                self._run(supervisor, paths)
        except EndRequested:
            self.stderr.write("AGORA has ended.")
        except ChildEnded as error:
            raise CommandError(error.sentence, returncode=error.exit_code) from error
        except LocalServiceError as error:
            raise CommandError(error.sentence) from error

    def _run(self, supervisor: Supervisor, paths: LocalPaths) -> None:
        told = settings.AGORA
        self._start_services(supervisor, paths)
        migrate_if_needed()
        if first_run.is_needed():
            self.stdout.write(made_at_first())
        shown = "localhost" if told.host in ("0.0.0.0", "::") else told.host
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{told.port}/"
        here = Path(settings.BASE_DIR)
        # The web server alone first: on two cores the workers' imports would hold up the first page.
        supervisor.start("web", web_argv(told.host, told.port), stop_rule=WEB_RULE, cwd=here)
        supervisor.wait_until(lambda: is_ready(told.host, told.port), 60.0, "The web server")
        supervisor.announce(address)
        self.stdout.write(f"AGORA is ready at {address}")
        self.stdout.flush()
        for name, words in celery_commands():
            supervisor.start(name, [*python("celery"), *words], stop_rule=CELERY_RULE, cwd=here)
        if told.llm_base_url is None:
            argv = [*python("agora_web.local.llm_server"), "--home", str(told.home)]
            supervisor.start("llm", argv, stop_rule=LLM_RULE, cwd=here)
        supervisor.watch()

    def _start_services(self, supervisor: Supervisor, paths: LocalPaths) -> None:
        told = settings.AGORA
        with no_command_at_work(paths):
            if told.database_url is None:
                postgres = EmbeddedPostgres(paths)
                supervisor.adopt(postgres.start)
                bootstrap(postgres.conninfo(), settings.DATABASES["owner"]["NAME"])
            else:
                bootstrap_server(told.database_url)
            if told.redis_url is None:
                supervisor.adopt(EmbeddedValkey(paths).start)


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
    scheduler = "django_celery_beat.schedulers:DatabaseScheduler"
    yield "beat", [*app, "beat", "--scheduler", scheduler, "--pidfile", "", "--loglevel", "INFO"]


def bootstrap_server(url: str) -> None:
    """Prepare the server that DATABASE_URL names, unless its roles can sign in already: then nothing is missing."""
    try:
        connections["owner"].ensure_connection()
    except OperationalError:
        name = settings.DATABASES["owner"]["NAME"]
        bootstrap(url, name, settings.ROLE_PASSWORDS)


def migrate_if_needed() -> None:
    """Bring the schema up to date as its owner; a start without news costs only the look."""
    connection = connections["owner"]
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", database="owner", interactive=False, verbosity=0)
    connection.close()


def made_at_first() -> str:
    """Let `manage.py first_run` make what a first start needs; returns what it has to say.

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
