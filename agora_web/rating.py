"""Asks the model of the agent that a bank belongs to, for training's labels."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC
from uuid import UUID

from agents.backends import backend_for
from agents.models import Agent, Backend
from agents.runtime.llm.port import LlmError, Message, complete

ANSWER_TOKENS = 60
PATIENCE_S = 60.0  # for the whole answer: the demo model needs about ten on a busy laptop
log = logging.getLogger(__name__)


class AgentsModel:
    """Fills `training.learner.rating.MemoryRater`."""

    def ask(self, bank: UUID, rules: str, question: str) -> str | None:
        """See the protocol. An answer that broke off counts as failed."""
        agent = Agent.objects.filter(seats__bank=bank).first()
        if agent is None or not agent.rates_memories or agent.backend == Backend.QUOTE:
            return None
        messages = [Message("system", rules), Message("user", question)]
        try:
            backend = backend_for(agent, zone=UTC, reader="")
            answer = asyncio.run(
                asyncio.wait_for(complete(backend, messages, max_tokens=ANSWER_TOKENS), timeout=PATIENCE_S)
            )
        except (LlmError, TimeoutError) as error:
            log.info("%s was not rated by its model (%s)", bank, type(error).__name__)
            return ""
        return answer.text if answer.error is None else ""
