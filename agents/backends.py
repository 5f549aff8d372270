"""From an agent's row and the settings to a backend of the runtime."""

from __future__ import annotations

import json
from datetime import tzinfo

from django.conf import settings
from django.utils.translation import gettext as _

from agents.models import Agent, Backend
from agents.runtime.llm import LlmSettings, make_backend
from agents.runtime.llm.port import LlmBackend, LlmUnreachable
from agents.runtime.prompt import Block, PromptLimits

QUOTE_PAUSE_S = 0.012


def uses_demo_model(agent: Agent) -> bool:
    """Whether this agent's words come from the embedded demo model."""
    return agent.backend == Backend.OPENAI and not agent.base_url and not settings.AGORA.llm_base_url


def demo_model_url() -> str | None:
    """Where the embedded demo model answers, or None while it does not."""
    try:
        return str(json.loads(settings.PATHS.llm_json.read_text())["base_url"])
    except (OSError, ValueError, KeyError):
        return None


def backend_for(agent: Agent, *, zone: tzinfo, reader: str) -> LlmBackend:
    """Make the agent's backend. Raises `LlmUnreachable` while the demo model is not up."""
    if agent.backend == Backend.QUOTE:
        return make_backend("quote", LlmSettings(zone=zone, reader=reader, word_pause_s=QUOTE_PAUSE_S))
    base_url = agent.base_url or settings.AGORA.llm_base_url or demo_model_url()
    if base_url is None:
        raise LlmUnreachable(
            "llm_starting",
            _(
                "The demo model is not up. It takes a few seconds after the start; then try again. "
                "If it stays away, the log llm.log in AGORA_HOME says why."
            ),
        )
    model = agent.model or settings.AGORA.llm_model
    return make_backend("openai", LlmSettings(base_url=base_url, api_key=settings.AGORA.llm_api_key, model=model))


def block_for(agent: Agent) -> Block:
    """Where recalled memories stand: small models read them best just above the question."""
    if agent.backend == Backend.QUOTE:
        return "none"
    return "user_turn" if agent.small_model else "system_after"


def limits_for(agent: Agent) -> PromptLimits:
    """The agent's budgets."""
    reply = min(agent.reply_tokens, agent.context_tokens // 2)
    return PromptLimits(agent.context_tokens, reply, agent.recall_tokens)


def notice_for(agent: Agent) -> str:
    """What the page says above the chat: that the demo model is a toy, and which setting connects a real one."""
    if not uses_demo_model(agent):
        return ""
    return _(
        "%(name)s is a demo model of 135 million parameters: a toy that often errs. Set AGORA_LLM_BASE_URL to connect "
        "a real one."
    ) % {"name": agent.name}
