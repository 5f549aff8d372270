"""The forms of the schedule: when one task runs, and the rules of training."""

from __future__ import annotations

import zoneinfo
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from training.models import Rules
from training.scheduling.cron import LONGEST, CronError, fields_of
from training.scheduling.rows import Row

SHARES = ("share_uncertain", "share_leaving", "share_random")


class TimesForm(forms.Form):
    """When one task runs."""

    enabled = forms.BooleanField(label=_("Switched on"), required=False)
    cron = forms.CharField(
        label=_("When"), max_length=LONGEST,
        help_text=_(
            "Minute, hour, day of the month, month, day of the week. “30 3 * * *” is every night at half past three, "
            "“*/15 * * * *” each quarter of an hour, “0 6 * * mon” Mondays at six."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "cron"}),
    )  # fmt: skip
    zone = forms.ChoiceField(label=_("In the time of"))

    def __init__(self, *args: Any, row: Row, zone: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = dict.fromkeys(name for name in (zone, row.zone, "UTC") if name in zoneinfo.available_timezones())
        self.fields["zone"].choices = [(name, name.replace("_", " ")) for name in names]  # type: ignore[attr-defined]

    def clean_cron(self) -> str:
        """The fields with one space between them."""
        text = " ".join(self.cleaned_data["cron"].split())
        try:
            fields_of(text)
        except CronError as error:
            raise forms.ValidationError(error.sentence) from error
        return text


class RulesForm(forms.ModelForm):  # type: ignore[type-arg]
    """How labels are collected, runs started and adapters promoted."""

    confidence = forms.FloatField(
        label=_("Confidence"), min_value=0.5, max_value=0.999,
        widget=forms.NumberInput(attrs={"step": "any", "min": 0.5, "max": 0.999}),
        help_text=_("How sure it must be that a new adapter is better, to be promoted without a reason: 0.5 to 0.999."),
    )  # fmt: skip
    most_lost = forms.FloatField(
        label=_("Lost at most"), min_value=0, max_value=0.5,
        widget=forms.NumberInput(attrs={"step": "any", "min": 0, "max": 0.5}),
        help_text=_("By a guard metric, or by any kind of conversation that was learned before: 0 to 0.5."),
    )  # fmt: skip
    least_labels = forms.IntegerField(
        label=_("Labels, at least"), min_value=20, max_value=100_000,
        help_text=_("Of a kind of conversation, before its shared head is trained."),
    )  # fmt: skip
    retrain_after = forms.IntegerField(
        label=_("Train after so many new labels"), min_value=0, max_value=1_000_000,
        help_text=_("Beside the schedule. 0: by the schedule alone."),
    )  # fmt: skip
    reviews_wanted = forms.IntegerField(
        label=_("Reviews of each item"), min_value=1, max_value=9,
        help_text=_("By different labellers; from 2 on their agreement is measured."),
    )  # fmt: skip
    counterfactuals_a_day = forms.IntegerField(
        label=_("Counterfactuals a day"), min_value=0, max_value=10_000,
        help_text=_("Replies scored again without one of their memories. Each costs the training worker seconds."),
    )  # fmt: skip

    class Meta:
        model = Rules
        fields = [
            "promote", "confidence", "most_lost", "least_labels", "retrain_after", "share_uncertain", "share_leaving",
            "share_random", "reviews_wanted", "counterfactuals_a_day",
        ]  # fmt: skip
        labels = {"promote": _("When a new adapter is better")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        titles = (_("What the adapter is unsure of"), _("What is near to leaving its bank"), _("Anything, at random"))
        for name, title in zip(SHARES, titles, strict=True):
            widget = forms.NumberInput(attrs={"step": "any", "min": 0, "max": 1})
            self.fields[name] = forms.FloatField(label=title, min_value=0, max_value=1, widget=widget)
        self.fields["share_random"].help_text = _("Only these feed the figures that are reported: 0.1 or more.")

    def clean(self) -> dict[str, Any]:
        """The shares are one whole; without any at random nothing could be reported."""
        found = super().clean() or {}
        shares = [found.get(name) for name in SHARES]
        if None not in shares:
            total = sum(share for share in shares if share is not None)
            if abs(total - 1) > 0.005:
                self.add_error("share_random", _("The three shares make %(sum).2f; they must make 1.") % {"sum": total})
            elif found["share_random"] < 0.1:
                self.add_error(
                    "share_random", _("At least 0.1 must be at random: reported figures come from it alone.")
                )
        return found
