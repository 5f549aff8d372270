"""What a worker has to know of training: the jobs that it can be given."""

from training.services import own_heads, rescoring

__all__ = ["own_heads", "rescoring"]
