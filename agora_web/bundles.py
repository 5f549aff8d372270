"""Static files that come inside Python packages, one by one: the address has the version, so it is cached for ever."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

PLOTLY = f"vendor/plotly-{version('plotly')}/plotly.min.js"
IMMUTABLE = r"/vendor/plotly-[\w.]+/"  # addresses whose file never changes


def plotly_folder() -> Path:
    """Where the package keeps its bundle; the package itself, which is slow, is not imported."""
    found = find_spec("plotly")
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "package_data"


class PlotlyFinder(BaseFinder):
    """Finds Plotly's bundle, and nothing else of its package."""

    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        prefix, self.name = PLOTLY.rsplit("/", 1)
        self.storage = FileSystemStorage(location=plotly_folder())
        self.storage.prefix = prefix  # type: ignore[attr-defined]  # as staticfiles and whitenoise read it

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != PLOTLY:
            return []
        found = self.storage.path(self.name)
        return [found] if find_all else found

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        yield self.name, self.storage
