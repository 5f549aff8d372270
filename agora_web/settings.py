"""The settings of AGORA: the only reader of the environment, typed, failing at start with a sentence.

Everything that differs between machines is in `AGORA` (see `Environment`); what follows is Django's.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from agora_web import bundles
from agora_web.local.paths import LocalPaths

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
TESTING = "pytest" in sys.modules


@dataclass(frozen=True)
class Environment:
    """What this process was told by its environment."""

    home: Path
    host: str
    port: int
    debug: bool
    allowed_hosts: tuple[str, ...]
    database_url: str | None  # None: the embedded PostgreSQL
    redis_url: str | None  # None: the embedded Valkey
    llm_base_url: str | None  # None: the embedded demo model
    llm_api_key: str
    llm_model: str
    encoder: str  # "" is the packaged all-MiniLM-L6-v2; else a name or folder of sentence-transformers
    secret_key: str
    behind_https: bool


def read_environment() -> Environment:
    """Read and check the environment; raises `ImproperlyConfigured` with a sentence that names the setting."""
    # Tests never touch a real home, whatever the shell they run in says.
    name, folder = ("AGORA_TEST_HOME", ".agora-test") if TESTING else ("AGORA_HOME", ".agora")
    home = Path(env.str(name, default=str(BASE_DIR / folder))).expanduser().absolute()
    if TESTING:  # processes that share a run of the tests have servers of their own
        home /= env.str("PYTEST_XDIST_WORKER", default="")
    try:
        port = env.int("PORT", default=8000)
    except ValueError as error:
        raise ImproperlyConfigured("PORT must be a whole number such as 8000.") from error
    if not 1 <= port <= 65535:
        raise ImproperlyConfigured(f"PORT is {port}; it must lie between 1 and 65535.")
    database_url, redis_url = env.str("DATABASE_URL", default=""), env.str("REDIS_URL", default="")
    if database_url and urlsplit(database_url).scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must look like postgresql://user:password@host:5432/agora.")
    if redis_url and urlsplit(redis_url).scheme not in {"redis", "rediss", "unix"}:
        raise ImproperlyConfigured("REDIS_URL must look like redis://host:6379.")
    return Environment(
        home=home,
        host=env.str("AGORA_HOST", default="127.0.0.1"),
        port=port,
        debug=env.bool("AGORA_DEBUG", default=False),
        allowed_hosts=tuple(env.list("AGORA_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])),
        database_url=database_url or None,
        redis_url=redis_url or None,
        llm_base_url=env.str("AGORA_LLM_BASE_URL", default="") or None,
        llm_api_key=env.str("AGORA_LLM_API_KEY", default=""),
        llm_model=env.str("AGORA_LLM_MODEL", default=""),
        encoder=env.str("AGORA_ENCODER", default=""),
        secret_key=env.str("AGORA_SECRET_KEY", default="") or stored_secret(LocalPaths(home).secret_key),
        behind_https=env.bool("AGORA_HTTPS", default=False),
    )


def stored_secret(path: Path) -> str:
    """Read the secret key of this home, or make it on first use (0600)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists():
            return path.read_text().strip()
        # written beside and linked: two processes that start at once agree on one key, and never read half of it
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.touch(mode=0o600)
        beside.write_text(secrets.token_urlsafe(48))
        try:
            os.link(beside, path)
        except FileExistsError:
            pass  # the other process was faster
        finally:
            beside.unlink()
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be used ({error.strerror}). Set AGORA_HOME to a folder that you may write, or give "
            "AGORA_SECRET_KEY."
        ) from error


AGORA = read_environment()
PATHS = LocalPaths(AGORA.home)

# --- Database: one database, one alias a role (docs/architecture.md, "Who may read what") -------------------------


def role_password(role: str) -> str:
    """The password of a database role: derived from the secret key, so that no second secret has to be kept."""
    return hmac.new(AGORA.secret_key.encode(), f"database role {role}".encode(), hashlib.sha256).hexdigest()


ROLE_PASSWORDS = {role: role_password(role) for role in ("agora_owner", "agora_app", "agora_worker", "agora_backup")}


def database(role: str, *, pool: bool, mirror: str | None = None) -> dict[str, Any]:
    """One alias: the configured server, or the embedded one by its socket folder, as `role`."""
    # The statements of a turn (memory/prepared.py) prepare themselves; Django's own never are. A pooler between
    # must know prepared statements (PgBouncer does from 1.21 on).
    options: dict[str, Any] = {"application_name": f"agora {role}"}
    if pool:
        options["pool"] = {"min_size": 0, "max_size": 16, "timeout": 10}
    place = {"HOST": str(PATHS.postgres_socket_dir), "PORT": "5432", "NAME": "agora"}
    if AGORA.database_url:
        url = urlsplit(AGORA.database_url)
        place = {
            "HOST": url.hostname or "localhost",
            "PORT": str(url.port or 5432),
            "NAME": url.path.strip("/") or "agora",
        }
    return {
        "ENGINE": "django.db.backends.postgresql",
        **place,
        "USER": role,
        "PASSWORD": role_password(role),
        "OPTIONS": options,
        "CONN_MAX_AGE": 0,
        "TEST": {"MIRROR": mirror},
    }


DATABASES = {
    "default": database("agora_app", pool=True, mirror="owner"),  # tests: one database, flushed by its owner
    "owner": database("agora_owner", pool=False),
    "worker": database("agora_worker", pool=False, mirror="owner"),
}

# --- Valkey: broker, channel layer, token streams -------------------------------------------------------------------

_socket = PATHS.valkey_socket


def redis_location(number: int) -> str:
    """The address of one numbered database of Valkey or Redis."""
    if AGORA.redis_url:
        return f"{AGORA.redis_url.rstrip('/')}/{number}"
    return f"unix://{quote(str(_socket))}?db={number}"


CELERY_BROKER_URL = redis_location(1) if AGORA.redis_url else f"redis+socket://{_socket}?virtual_host=1"
STREAMS_URL = redis_location(3)
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            # the layer waits five seconds for a message, the client gives up after five: let it wait longer
            "hosts": [{"address": redis_location(3), "socket_timeout": 30}],
            "capacity": 500,
            "prefix": "agora-channels",
        },
    }
}
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": redis_location(2)},
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {"training.*": {"queue": "training"}}
CELERY_IMPORTS = ["memory.services.sweeps"]  # registers what does each kind of job
CELERY_BEAT_SCHEDULER = "agora_web.beat:SeedingScheduler"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    # whoever enqueues does not wait for a broker that is away: the job's row is found by the sweep
    "socket_connect_timeout": 1,
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.1,
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SYNC_EVERY = 1  # each run is noted at once: the doctor tells a living beat by it
# Beat copies into its table what is missing there; then it is the operators' (training/services/schedule.py).
# Seconds, or cron in UTC; a task that this code does not have is left out.
CELERY_BEAT_SCHEDULE = {
    "jobs that are due": {"task": "memory.run_due_jobs", "schedule": 60.0},
    "turns whose server is gone": {"task": "memory.sweep", "schedule": 10.0},
    "enough new labels": {"task": "training.retrain_after", "schedule": 300.0},
    "retraining": {"task": "training.retrain", "schedule": "0 3 * * *"},
    "hindsight": {"task": "training.sweep", "schedule": "*/30 * * * *"},
    "shadow scoring": {"task": "training.score_silently", "schedule": "* * * * *"},
    "labelling queue": {"task": "training.tend_queue", "schedule": "*/2 * * * *"},
    "counterfactuals": {"task": "training.choose_counterfactuals", "schedule": "10 * * * *"},
    "re-scoring": {"task": "training.rescore_banks", "schedule": "*/5 * * * *"},
    "regret report": {"task": "training.look_back_at_regrets", "schedule": "15 4 * * *"},
    "summaries": {"task": "memory.summaries", "schedule": "30 4 * * *", "enabled": False},
    "summaries of milestones": {"task": "memory.milestones", "schedule": "0 5 * * 0", "enabled": False},
    "outdated memories": {"task": "memory.check", "schedule": "45 4 * * *"},
}

# --- Django ---------------------------------------------------------------------------------------------------------

SECRET_KEY = AGORA.secret_key
DEBUG = AGORA.debug
ALLOWED_HOSTS = [*AGORA.allowed_hosts, *(["testserver"] if TESTING else [])]
ROOT_URLCONF = "agora_web.urls"
ASGI_APPLICATION = "agora_web.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
SITE_ID = 1

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "allauth",
    "allauth.account",
    "channels",
    "csp",
    "rest_framework",
    "django_celery_beat",
    "agora_web.accounts",
    "agora_web",
    "memory",
    "training",
    "agents",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "agora_web.accounts.middleware.PersonMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
if TESTING:
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/chat/"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "/accounts/login/"
ACCOUNT_SIGNUP_FORM_CLASS = "agora_web.accounts.forms.SignupForm"
ACCOUNT_RATE_LIMITS = {} if TESTING else {"login_failed": "10/m/ip,5/300s/key"}
EMAIL_BACKEND = env.str("AGORA_EMAIL_BACKEND", default="django.core.mail.backends.console.EmailBackend")

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "agora_web.bundles.PlotlyFinder",
]
PLOTLY_BUNDLE = bundles.PLOTLY
STATIC_ROOT = BASE_DIR / "staticfiles"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG or TESTING
WHITENOISE_IMMUTABLE_FILE_TEST = bundles.IMMUTABLE

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = AGORA.behind_https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if AGORA.behind_https else None
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in AGORA.allowed_hosts] if AGORA.behind_https else []
CSRF_FAILURE_VIEW = "agora_web.pages.errors.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["memory.api.parsers.JsonParser"],
    "EXCEPTION_HANDLER": "memory.api.errors.answer_error",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "sentence_transformers": {"level": "WARNING"},  # each command would begin with the path of its weights
        "django.request": {"level": "ERROR"},
    },
}

# --- AGORA's own limits ---------------------------------------------------------------------------------------------

MESSAGE_LIMIT = 65_536  # characters of one observation
UNDO_MINUTES = 10  # how long a forgotten memory can be brought back
HEARTBEAT_SECONDS = 10  # a running turn without a sign of life for so long is interrupted
HOT_BANK_BYTES = 512 * 1024 * 1024  # what one process keeps of banks
ENCODER_FACTORY = "tests.toy.toy_encoder" if TESTING else "memory.encoding.sentence_encoder"
LIKELIHOOD_FACTORY = "tests.toy.ToyLikelihood" if TESTING else "agora_web.wiring.likelihood_scorer"
RATER_FACTORY = "agora_web.wiring.memory_rater"
