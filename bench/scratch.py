"""A home and a database of the bench's own, in a temporary folder: no figure is measured on anybody's data."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django

from agora_web.local.paths import LocalPaths

# Settings that would lead away from the scratch home, or change what is measured.
ELSEWHERE = ("DATABASE_URL", "REDIS_URL", "AGORA_LLM_BASE_URL", "AGORA_ENCODER")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@contextmanager
def scratch_home() -> Iterator[Path]:
    """Set Django up on an empty home that is gone afterwards. Call it before anything imports the settings."""
    with tempfile.TemporaryDirectory(prefix="agora-bench-") as folder:
        for name in ELSEWHERE:
            os.environ.pop(name, None)
        os.environ.update(ONE_THREAD, AGORA_HOME=folder, DJANGO_SETTINGS_MODULE="agora_web.settings")
        django.setup()
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(LocalPaths(Path(folder)).sockets, ignore_errors=True)  # elsewhere when the path is long


@contextmanager
def scratch_database() -> Iterator[None]:
    """The embedded PostgreSQL as `manage.py up` starts it (fsync on: commits are measured), migrated by its owner."""
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from agora_web.local.running import services_running

    with services_running(settings.PATHS.home, valkey=False):
        call_command("migrate", database="owner", verbosity=0)
        connections["owner"].close()
        try:
            yield
        finally:
            connections.close_all()
            connections["default"].close_pool()  # type: ignore[attr-defined]
