"""Homes for embedded services, and a promise that nothing outlives its test."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agora_web.local.paths import LocalPaths
from agora_web.local.postgres import EmbeddedPostgres
from agora_web.local.valkey import EmbeddedValkey


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def paths(home: Path) -> LocalPaths:
    made = LocalPaths(home)
    made.make()
    return made


@pytest.fixture(scope="session")
def fresh_cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a stopped cluster; a copy is quicker than making one."""
    paths = LocalPaths(tmp_path_factory.mktemp("cluster"))
    server = EmbeddedPostgres(paths, durable=False)
    server.start()
    server.stop()
    return paths.postgres_data


@pytest.fixture
def postgres(paths: LocalPaths, fresh_cluster: Path) -> Iterator[EmbeddedPostgres]:
    shutil.copytree(fresh_cluster, paths.postgres_data)
    server = EmbeddedPostgres(paths, durable=False)
    yield server
    server.stop()


@pytest.fixture
def valkey(paths: LocalPaths) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(paths)
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    # a server that ran before may have a new child of its own (PostgreSQL has one for each connection)
    left = [
        one for one in psutil.Process().children(recursive=True) if one not in before and one.parent() not in before
    ]
    assert not left, left
