"""Tables of training."""

from training.models.label import About, Label, Source

__all__ = ["About", "Label", "Source"]
