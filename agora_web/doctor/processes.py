"""What runs beside the database: broker, workers, beat, the language model's server."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

import httpx2
from celery import current_app
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django_celery_beat.models import PeriodicTask
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from agents.backends import demo_model_url
from agora_web.doctor.illness import Ill, first_line
from agora_web.local.locks import is_held

WORKER_ANSWERS_S = 2.0
LLM_ANSWERS_S = 4.0
BEAT_WRITES = timedelta(minutes=2)  # something is due every ten seconds, and beat notes each run
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def broker() -> str:
    """Valkey or Redis answers where Celery looks for it."""
    try:
        with current_app.connection_for_read() as broker_connection:
            broker_connection.ensure_connection(max_retries=1, timeout=2)
            broker_connection.default_channel.client.ping()
    except (OperationalError, RedisError, OSError) as error:
        cure = (
            _("Check REDIS_URL, and that this server runs.")
            if settings.AGORA.redis_url
            else _("Start AGORA with `make run`; log/valkey.log in AGORA_HOME says what holds it up.")
        )
        raise Ill(_("The broker does not answer (%(error)s).") % {"error": first_line(error)}, cure) from error
    return _("The broker answers.")


def worker(queue: str) -> str:
    """A Celery worker that serves this queue answers a ping."""
    cure = _("Start AGORA with `make run`, or this worker alone: `%(command)s`.") % {
        "command": f".venv/bin/celery -A agora_web.celery worker -Q {queue} -n {queue}@%h"
    }
    try:
        answers = current_app.control.inspect(timeout=WORKER_ANSWERS_S).active_queues() or {}
    except (OperationalError, RedisError, OSError) as error:
        raise Ill(_("The broker does not answer, so no worker can be asked."), cure) from error
    serving = [name for name, queues in answers.items() if queue in {one["name"] for one in queues}]
    if not serving:
        raise Ill(_("No worker serves the queue “%(queue)s”.") % {"queue": queue}, cure)
    return _("%(names)s answers.") % {"names": ", ".join(sorted(serving))}


def beat() -> str:
    """Beat noted a run of late."""
    cure = _("Start AGORA with `make run`, or beat alone: `.venv/bin/celery -A agora_web.celery beat`.")
    if settings.AGORA.redis_url is None and not settings.TESTING and not is_held(settings.PATHS.up_lock):
        raise Ill(_("AGORA is not running, so nothing is scheduled."), cure)
    tasks = PeriodicTask.objects.exclude(last_run_at=None).order_by("-last_run_at")
    last = tasks.values_list("last_run_at", flat=True).first()
    if last is None:
        raise Ill(_("Beat has not scheduled anything yet."), cure)
    age = timezone.now() - last
    if age > BEAT_WRITES:
        minutes = int(age.total_seconds() // 60)
        raise Ill(_("Beat last noted a run %(minutes)d minutes ago.") % {"minutes": minutes}, cure)
    return _("Beat noted a run %(seconds)d seconds ago.") % {"seconds": max(0, int(age.total_seconds()))}


def language_model() -> str:
    """The server that the agents talk to lists its models."""
    told = settings.AGORA
    base_url = told.llm_base_url or demo_model_url()
    if base_url is None:
        raise Ill(
            _("The demo model is not up."),
            _("Start AGORA with `make run`, or name a server in AGORA_LLM_BASE_URL; log/llm.log has more."),
        )
    parts = urlsplit(base_url)
    url = f"{base_url.rstrip('/')}{'' if parts.path.strip('/') else '/v1'}/models"
    headers = {"Authorization": f"Bearer {told.llm_api_key}"} if told.llm_api_key else {}
    try:
        # a proxy has no way to this machine
        with httpx2.Client(timeout=LLM_ANSWERS_S, trust_env=parts.hostname not in LOOPBACK) as client:
            answer = client.get(url, headers=headers)
            answer.raise_for_status()
            models = [str(model["id"]) for model in answer.json()["data"]]
    except httpx2.HTTPStatusError as error:
        raise Ill(
            _("%(url)s answers %(status)d.") % {"url": url, "status": error.response.status_code},
            _("Check AGORA_LLM_BASE_URL (it mostly ends in /v1) and AGORA_LLM_API_KEY."),
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError) as error:
        raise Ill(
            _("%(url)s lists no models (%(error)s).") % {"url": url, "error": first_line(error)},
            _("Start that server, or mend AGORA_LLM_BASE_URL."),
        ) from error
    if told.llm_model and told.llm_model not in models:
        raise Ill(
            _("%(url)s does not list the model %(model)s.") % {"url": url, "model": told.llm_model},
            _("Set AGORA_LLM_MODEL to one that it has: %(models)s.") % {"models": ", ".join(models[:8])},
        )
    return _("%(url)s lists %(models)s.") % {"url": url, "models": ", ".join(models[:3]) or _("no model")}
