"""What a worker has to know of training: the jobs that it can be given."""

from training.services import own_heads, runs, schedule

__all__ = ["own_heads", "runs", "schedule"]
