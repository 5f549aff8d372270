"""The Django project of AGORA."""

from agora_web.celery import app as celery_app

__all__ = ["celery_app"]
