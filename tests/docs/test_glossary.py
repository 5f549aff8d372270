"""The papers name everything that a person can meet: a word missing here is a word that nobody explains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents.runtime.llm import BACKENDS
from memory.engine import features, signals
from memory.engine.retention import POLICIES, WRAPPERS

HERE = Path(__file__).resolve().parent.parent.parent
GLOSSARY = (HERE / "docs" / "glossary.md").read_text()
SETTINGS = (HERE / "agora_web" / "settings.py").read_text()


def settings_names() -> list[str]:
    """Every name that the settings read from the environment, but for those of the tests."""
    names = re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', SETTINGS)
    return sorted({*names, "AGORA_HOME"})


@pytest.mark.parametrize("name", [*POLICIES, *WRAPPERS, *BACKENDS, *signals.NAMES, *features.NAMES])
def test_every_policy_backend_signal_and_feature_is_in_the_glossary(name: str) -> None:
    assert f"`{name}`" in GLOSSARY


@pytest.mark.parametrize("name", settings_names())
def test_every_setting_is_in_the_glossary(name: str) -> None:
    assert f"`{name}`" in GLOSSARY


def test_the_settings_are_found_where_this_test_looks_for_them() -> None:
    assert {"PORT", "AGORA_HOME", "DATABASE_URL", "REDIS_URL", "AGORA_LLM_BASE_URL"} <= set(settings_names())


def test_links_between_the_papers_lead_somewhere() -> None:
    papers = [HERE / "README.md", HERE / "CHANGELOG.md", *(HERE / "docs").rglob("*.md")]
    broken = [
        f"{paper.relative_to(HERE)}: {target}"
        for paper in papers
        for target in re.findall(r"\]\(([^)#:]+)\)", paper.read_text())
        if not (paper.parent / target).exists()
    ]
    assert broken == []
