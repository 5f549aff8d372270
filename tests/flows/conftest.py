"""Homes for the journeys: a real one with a space in its path, and light ones with the toy encoder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flows.first_start import FirstStart, first_start
from tests.flows.running_agora import LIGHT, RunningAgora
from tests.scripted_llm import ScriptedLlm


@pytest.fixture(scope="session")
def llm() -> Iterator[ScriptedLlm]:
    with ScriptedLlm() as server:
        yield server


@pytest.fixture(scope="session")
def light_start(tmp_path_factory: pytest.TempPathFactory, llm: ScriptedLlm) -> Iterator[FirstStart]:
    """A home whose AGORA uses the toy encoder and the scripted LLM; stopped."""
    home = tmp_path_factory.mktemp("light") / "home"
    made = first_start(home, AGORA_LLM_BASE_URL=llm.base_url, **LIGHT)
    with made.agora:
        yield made


@pytest.fixture(scope="module")
def light(
    light_start: FirstStart, tmp_path_factory: pytest.TempPathFactory, llm: ScriptedLlm
) -> Iterator[RunningAgora]:
    """A copy of it for one module; tests start it when it does not run."""
    home = tmp_path_factory.mktemp("copy") / "home"
    with light_start.agora.copy_of(home, AGORA_LLM_BASE_URL=llm.base_url, **LIGHT) as agora:
        yield agora
