"""Where a home's files lie, also when its path is long, odd or somebody else's."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from agora_web.local.errors import LocalServiceError
from agora_web.local.paths import SOCKET_PATH_BYTES, LocalPaths, private_folder


def test_a_short_plain_home_keeps_its_sockets_inside() -> None:
    paths = LocalPaths(Path("/srv/agora"))
    assert paths.postgres_socket_dir == Path("/srv/agora/run/pg")
    assert paths.valkey_socket == Path("/srv/agora/run/valkey.sock")


@pytest.mark.parametrize("name", ["x" * 120, "with space", "with,comma", "ünïcode", "per%cent", "q?a#b"])
def test_a_long_or_odd_home_takes_a_short_socket_folder_that_every_process_computes(name: str) -> None:
    paths = LocalPaths(Path("/srv") / name)
    longest = paths.postgres_socket_dir / ".s.PGSQL.5432"
    assert len(os.fsencode(longest)) <= SOCKET_PATH_BYTES
    assert not paths.sockets.is_relative_to(paths.home)
    assert paths.sockets == LocalPaths(Path("/srv/./other/..") / name).sockets
    assert paths.sockets != LocalPaths(Path("/srv") / (name + "2")).sockets


def test_make_creates_private_folders(tmp_path: Path) -> None:
    paths = LocalPaths(tmp_path / "a b" / "home")
    paths.make()
    paths.make()
    for folder in (paths.home, paths.run, paths.log, paths.sockets):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    shutil.rmtree(paths.sockets)


def test_a_socket_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(LocalServiceError, match="does not belong to you"):
        private_folder(tmp_path / "link")


def test_an_open_socket_folder_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    assert stat.S_IMODE(private_folder(folder).stat().st_mode) == 0o700


def test_a_home_below_a_file_is_refused_with_a_cure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalServiceError, match="Set AGORA_HOME"):
        LocalPaths(tmp_path / "file" / "home").make()
