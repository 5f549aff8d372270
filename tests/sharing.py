"""Which process takes which tests where several share a run."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

from tests.conftest import BROWSER


class OneDrivesTheBrowser(LoadFileScheduling):
    """Hands out whole parts of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return part_of(nodeid)


def part_of(nodeid: str) -> str:
    """What a test stays together with. A file's tests do, since what they share is costly to make; the browser's do
    across their files, so that one AGORA serves them all and no two browsers compete."""
    return BROWSER if nodeid.startswith(f"{BROWSER}/") else nodeid.split("::", 1)[0]
