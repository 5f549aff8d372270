"""The Django project as an app: its commands, and what starts with it."""

from django.apps import AppConfig

# The application that `shared_task` binds to. Here, not in the package: `up` starts processes and needs no Celery.
from agora_web.celery import app as celery_app

__all__ = ["AgoraWebConfig", "celery_app"]


class AgoraWebConfig(AppConfig):
    name = "agora_web"
