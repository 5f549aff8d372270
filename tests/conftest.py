"""The ground of the tests: the embedded PostgreSQL with row-level security on, Valkey, people, banks, encoders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from agora_web.local.bootstrap import bootstrap, drop_database
from agora_web.local.running import services_running
from tests.flows.first_start import FirstStart, first_start

BROWSER = "tests/browser"
DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    if not DATA.is_dir() and "not data" not in (config.option.markexpr or ""):
        expression = config.option.markexpr
        config.option.markexpr = f"({expression}) and not data" if expression else "not data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's tests come first: they take longest, and another process may take the rest meanwhile."""
    items.sort(key=lambda item: not item.nodeid.startswith(f"{BROWSER}/"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of processes that share a run one drives the browser; the others take the rest, file by file."""
    from tests.sharing import OneDrivesTheBrowser

    return OneDrivesTheBrowser(config, log)


def pytest_report_header() -> str:
    return "data: found" if DATA.is_dir() else "data: ../shared/data is missing, its tests are deselected"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return DATA


@pytest.fixture(scope="session")
def services() -> Iterator[None]:
    """The embedded PostgreSQL and Valkey, for as long as the session runs."""
    with services_running(settings.PATHS.home, database="agora"):
        yield


@pytest.fixture(scope="session")
def database_name(services: None) -> Iterator[str]:
    """A fresh database of this run, migrated by its owner, served to all aliases."""
    name = f"agora_test_{os.getpid()}"
    conninfo = f"host={settings.PATHS.postgres_socket_dir} user=postgres"
    bootstrap(conninfo, name)
    for alias in ("default", "owner", "worker"):
        connections[alias].settings_dict["NAME"] = name
        settings.DATABASES[alias]["NAME"] = name
    yield name
    connections.close_all()
    connections["default"].close_pool()
    drop_database(conninfo, name)


@pytest.fixture(scope="session")
def django_db_setup(database_name: str, django_db_blocker) -> None:  # type: ignore[no-untyped-def]
    """Instead of pytest-django's own: the owner migrates, so the tables have the rights that they have in earnest."""
    with django_db_blocker.unblock():
        call_command("migrate", database="owner", verbosity=0)
        connections["owner"].close()


@pytest.fixture(scope="session")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstStart]:
    """A home after its first start, stopped; its path has spaces."""
    made = first_start(tmp_path_factory.mktemp("first") / "a home of AGORA")
    with made.agora:
        yield made
