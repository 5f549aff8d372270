"""Accounts: people and their roles."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


def _make_roles(sender: AppConfig, using: str, **_: Any) -> None:
    from agora_web.accounts.roles import ensure_roles  # the registry of models is ready only now

    ensure_roles(using=using)


class AccountsConfig(AppConfig):
    name = "agora_web.accounts"
    label = "accounts"

    def ready(self) -> None:
        post_migrate.connect(_make_roles, sender=self)
