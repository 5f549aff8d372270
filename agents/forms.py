"""The form of an agent."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from memory.engine.retention import POLICIES
from memory.engine.text import clean_text
from memory.forms import policy_spelled
from memory.models import LEAST_EVICT_AT


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    """Everything an administrator sets of an agent."""

    base_url = forms.URLField(
        label=_("Server address"),
        required=False,
        assume_scheme="http",  # what a person types without a scheme is mostly a server at home
        help_text=_("Empty: the server that AGORA_LLM_BASE_URL names, or else the demo model."),
    )
    evict_at = forms.FloatField(
        label=_("Evicts at this share of the budget"), required=False, initial=1.0, min_value=LEAST_EVICT_AT,
        max_value=1,
        help_text=_("From 0.5 to 1. Under 1 the rest stays free for what a person restores or takes back."),
    )  # fmt: skip

    class Meta:
        model = Agent
        fields = [
            "name", "description", "persona", "backend", "base_url", "model", "small_model", "context_tokens",
            "reply_tokens", "budget_memories", "budget_tokens", "policy", "evict_at", "recall_tokens", "recall_archive",
            "rates_memories", "active", "labelling",
        ]  # fmt: skip
        widgets = {"persona": forms.Textarea(attrs={"rows": 5})}
        help_texts = {
            "policy": _("What leaves first: %(policies)s; before it chains+, floor+ or merge+, as in %(example)s.")
            % {"policies": ", ".join(POLICIES), "example": "chains+floor(recent=6)+importance"},
            "persona": _("What the model is told about itself, before anything else."),
            "model": _("Empty: the first model that the server offers."),
            "small_model": _("Shows at most two memories, right above the question: small models answer best so."),
            "context_tokens": _("How much the model reads in all."),
            "budget_memories": _("A hard limit for each person's bank; what does not fit leaves for the archive."),
            "recall_tokens": _("How much of a prompt recalled memories may take."),
            "recall_archive": _("Looks through archived memories too at each turn."),
            "rates_memories": _("After some turns its model says how much a few new memories matter."),
            "labelling": _(
                "Labellers may then read conversations begun from now on, with e-mail addresses, numbers and keys "
                "masked. The chat tells each person so; their own word goes before this setting."
            ),
        }

    def clean_policy(self) -> str:
        """The policy in its one spelling."""
        return policy_spelled(self.cleaned_data["policy"])

    def clean_evict_at(self) -> float:
        """All of the budget where nothing is said."""
        share: float | None = self.cleaned_data["evict_at"]
        return 1.0 if share is None else share

    def clean(self) -> dict[str, Any]:
        """Texts without what no database holds; a reply must leave room for a prompt."""
        found = super().clean() or {}
        found |= {name: clean_text(value) for name, value in found.items() if isinstance(value, str)}
        context, reply = found.get("context_tokens"), found.get("reply_tokens")
        if context and reply and reply > context // 2:
            self.add_error("reply_tokens", _("The longest reply may take at most half of the context."))
        return found
