"""A replay's websocket."""

from __future__ import annotations

from typing import Any

from memory import lab
from memory.row_socket import RowConsumer


class LabConsumer(RowConsumer):
    """Frames out: replay, degraded."""

    what = "replay"

    def read(self) -> dict[str, Any]:
        return lab.replay_json(lab.replay(self.row_id))
