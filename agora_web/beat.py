"""Beat with the schedule of the database: what the settings name is put there once, and then is the operators'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django_celery_beat.schedulers import DatabaseScheduler

from training.services.schedule import seed


class SeedingScheduler(DatabaseScheduler):  # type: ignore[misc]
    """The usual one writes the settings over the table at each start; this one adds only what is missing."""

    def install_default_entries(self, data: Mapping[str, Any]) -> None:
        """None: results are not kept, so there are none to clean up."""

    def update_from_dict(self, mapping: Mapping[str, Mapping[str, Any]]) -> None:
        if seed(mapping, self.app.tasks):
            self._initial_read = True  # the table is read anew
