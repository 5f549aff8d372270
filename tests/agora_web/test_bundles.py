"""Plotly's bundle comes out of its package, alone, and browsers keep it."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client, override_settings
from whitenoise.middleware import WhiteNoiseMiddleware

from agora_web.bundles import PLOTLY, PlotlyFinder


def test_the_bundle_is_found_under_its_version_and_nothing_else_of_the_package_is() -> None:
    found = finders.find(PLOTLY)
    assert found is not None
    assert Path(str(found)).name == "plotly.min.js"
    assert importlib.metadata.version("plotly") in PLOTLY
    folder = PLOTLY.rsplit("/", 1)[0]
    for other in ("widgetbundle.js", "datasets/iris.csv.gz", "../__init__.py"):
        assert not finders.find(f"{folder}/{other}")
    assert [name for name, _ in PlotlyFinder().list(None)] == ["plotly.min.js"]


def test_it_is_served_for_ever_and_the_sites_own_scripts_are_not() -> None:
    with override_settings(WHITENOISE_AUTOREFRESH=False, STATIC_ROOT=None):
        served = WhiteNoiseMiddleware(lambda request: None)
    headers = dict(served.files[f"/static/{PLOTLY}"].get_response("GET", {}).headers)
    assert headers["Cache-Control"] == "max-age=315360000, public, immutable"
    assert (
        "immutable" not in dict(served.files["/static/site/page.js"].get_response("GET", {}).headers)["Cache-Control"]
    )
    response = Client().get(f"{settings.STATIC_URL}{PLOTLY}")
    assert response.status_code == 200
    assert "immutable" in response["Cache-Control"]
