"""How bodies are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class JsonParser(JSONParser):
    """JSON. What is none, or is nested deeper than anything of ours, is the sender's error, said in a sentence."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except (ParseError, RecursionError) as error:
            raise ParseError(_("What was sent is not JSON.")) from error
