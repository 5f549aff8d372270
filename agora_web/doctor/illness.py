"""How a check says that something is wrong."""

from __future__ import annotations


class Ill(Exception):
    """A check that failed: what is wrong, and what helps."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cause, self.cure = cause, cure


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
