"""What a worker has to know of agents: the jobs that it can be given."""

from agents import labelling

__all__ = ["labelling"]
