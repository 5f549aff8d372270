"""The Django project as an app: its commands, and what starts with it."""

from django.apps import AppConfig


class AgoraWebConfig(AppConfig):
    name = "agora_web"
