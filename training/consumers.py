"""A run's websocket, for those who may see runs."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from memory.row_socket import RowConsumer
from memory.services.turns import NotFound
from training import selectors


class RunConsumer(RowConsumer):
    """Frames out: run, degraded. Cancelling is a form's business."""

    what = "run"

    def read(self) -> dict[str, Any]:
        if not self.user.has_perm("training.view_trainingrun"):
            raise NotFound(_("There is no such run."))
        return selectors.run_json(selectors.run(self.row_id))
