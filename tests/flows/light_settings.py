"""AGORA's own settings with the toy encoder: a start then costs no seconds for importing a model."""

from agora_web.settings import *  # noqa: F403

ENCODER_FACTORY = "tests.toy.toy_encoder"
