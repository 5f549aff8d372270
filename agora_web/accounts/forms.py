"""Forms of a person's own account."""

from __future__ import annotations

import zoneinfo
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agora_web.accounts.models import User


class SignupForm(forms.Form):
    """What sign-up asks beside e-mail and password: a name, and the browser's time zone, filled in by a script."""

    name = forms.CharField(label=_("Your name"), max_length=120, required=False)
    time_zone = forms.CharField(widget=forms.HiddenInput, required=False)

    def signup(self, request: HttpRequest, user: User) -> None:
        """Called by allauth once the account exists."""
        user.name = self.cleaned_data.get("name", "")
        zone = self.cleaned_data.get("time_zone") or ""
        user.time_zone = zone if zone in zoneinfo.available_timezones() else "UTC"
        user.save(update_fields=["name", "time_zone"])


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    """Name, time zone and language."""

    class Meta:
        model = User
        fields = ["name", "time_zone", "language"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zones = sorted(zoneinfo.available_timezones())
        self.fields["time_zone"] = forms.ChoiceField(label=_("Time zone"), choices=[(z, z) for z in zones])
        self.fields["language"] = forms.ChoiceField(label=_("Language"), choices=settings.LANGUAGES)
