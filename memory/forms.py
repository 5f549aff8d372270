"""The form of one bank."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.adapters import available_adapters, learned_for, serving_adapter, serving_name
from memory.engine.retention import POLICIES, PolicyError, policy_named
from memory.models import LEAST_EVICT_AT, Bank
from memory.services.banks import BankConfiguration


def policy_spelled(text: str) -> str:
    """A policy in its one spelling; raises a form's error with the sentence that says what is wrong with it."""
    try:
        return policy_named(text).name
    except PolicyError as error:
        raise forms.ValidationError(error.sentence) from error


class BankForm(forms.ModelForm):  # type: ignore[type-arg]
    """How a bank keeps and reads. It is never saved: what it says is previewed, then applied."""

    recall_tokens = forms.IntegerField(
        label=_("Recalled memories in tokens"), min_value=50, max_value=100_000,
        help_text=_("How much of a prompt recalled memories may take."),
    )  # fmt: skip
    recall_archive = forms.BooleanField(
        label=_("Recall from the archive too"), required=False,
        help_text=_("Looks through archived memories too at each turn."),
    )  # fmt: skip
    adapter = forms.ChoiceField(label=_("Adapter"), required=False)

    class Meta:
        model = Bank
        fields = [
            "budget_memories", "budget_tokens", "evict_at", "policy", "adapter", "recall_tokens", "recall_archive",
        ]  # fmt: skip
        labels = {
            "budget_memories": _("Memories, at most"),
            "budget_tokens": _("Tokens, at most"),
            "evict_at": _("Evicts at this share"),
            "policy": _("What leaves first"),
        }
        help_texts = {
            "evict_at": _(
                "Of the budget, from 0.5 to 1. Under 1 the rest stays free for what you restore or take back."
            ),
            "policy": _("%(policies)s; before it chains+, floor+ or merge+, as in %(example)s.")
            % {"policies": ", ".join(POLICIES), "example": "chains+floor(recent=6)+importance"},
        }
        widgets = {
            "policy": forms.TextInput(attrs={"list": "policies", "autocomplete": "off", "spellcheck": "false"}),
            "evict_at": forms.NumberInput(attrs={"step": "0.05", "min": LEAST_EVICT_AT, "max": 1}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        present, self._own = self.instance.adapter, learned_for(self.instance.pk)
        self._present = (present, self.instance.keeps_adapter)
        usual = _("the usual one, now %(version)s") % {"version": serving_adapter().version}
        here = [*available_adapters(), *self._own]
        choices = [("", usual), *((version, version) for version in here)]
        if present and present not in here and self.instance.keeps_adapter:
            choices.append((present, _("%(version)s, which is not here any more") % {"version": present}))
        self.fields["adapter"].choices = choices  # type: ignore[attr-defined]
        self.fields["adapter"].help_text = _(
            "Judges how important a memory is, and finds it again. The usual one gives way when a better one is "
            "promoted; another one that you choose stays."
        )
        shown = {"adapter": present, "keeps_adapter": self.instance.keeps_adapter} | (kwargs.get("initial") or {})
        if not shown["keeps_adapter"] and shown["adapter"] not in self._own:
            self.initial["adapter"] = ""

    def clean_policy(self) -> str:
        return policy_spelled(self.cleaned_data["policy"])

    def configuration(self) -> BankConfiguration:
        """What a valid form asks for."""
        wanted = dict(self.cleaned_data)
        chosen, keeps = wanted.pop("adapter"), False
        if not chosen:
            chosen = serving_name()
        elif chosen == self._present[0]:
            keeps = self._present[1]
        else:
            keeps = chosen not in self._own
        return BankConfiguration(**wanted, adapter=chosen, keeps_adapter=keeps)
