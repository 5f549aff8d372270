"""Accounts: people and their roles."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


def _make_roles(sender: AppConfig, using: str, **_: Any) -> None:
    """An app's permissions exist once its own signal has come, so each app's are given then, not all at the first."""
    from agora_web.accounts.roles import ensure_roles  # the registry of models is ready only now

    ensure_roles(sender.label, using=using)


class AccountsConfig(AppConfig):
    name = "agora_web.accounts"
    label = "accounts"

    def ready(self) -> None:
        post_migrate.connect(_make_roles)
