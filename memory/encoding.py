"""The process's one encoder, named by the settings and loaded at first use."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.utils.module_loading import import_string

from memory.engine.encoder import CachedEncoder, Encoder, SentenceEncoder


def sentence_encoder() -> Encoder:
    """The encoder of the settings: the packaged one unless AGORA_ENCODER names another."""
    return SentenceEncoder(settings.AGORA.encoder)


@lru_cache(maxsize=1)
def encoder() -> CachedEncoder:
    """The encoder of this process, with its cache; `settings.ENCODER_FACTORY` makes it."""
    return CachedEncoder(import_string(settings.ENCODER_FACTORY)())
