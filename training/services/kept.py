"""Pinning and forgetting as judgements: who pins a memory finds it important, who has it forgotten does not want it.

Both are wishes first, so both count for less than a word on the memory. People forget for other reasons than worth, a
secret for one, hence its small weight; and its label lives no longer than the memory does: when the undo window closes
both are erased, and nothing is learned from what is gone.
"""

from __future__ import annotations

from datetime import datetime

from memory.models import Memory
from memory.services.wishes import Wish, listens
from training.models import About, Label, Source
from training.services.own_heads import learn_soon

WISHES: dict[Wish, tuple[float, float]] = {  # what it says of importance, and how many full judgements it counts for
    Wish.PIN: (1.0, 0.5),
    Wish.FORGET: (0.0, 0.25),
}
_TAKES_BACK = {Wish.UNPIN: Wish.PIN, Wish.UNFORGET: Wish.FORGET}


@listens
def judge_by_wish(wish: Wish, memory: Memory, now: datetime) -> None:
    """Label a memory by what its person wants of it, or take that label back. In the wish's own transaction."""
    about = Label.objects.filter(memory=memory, source=Source.KEPT, by=memory.owner_id)
    about.filter(reason=_TAKES_BACK.get(wish, wish).value).delete()
    if wish in WISHES:
        about.delete()  # one wish a memory: the last
        value, weight = WISHES[wish]
        Label.objects.create(
            owner_id=memory.owner_id, memory=memory, about=About.IMPORTANCE, value=value, weight=weight,
            source=Source.KEPT, by_id=memory.owner_id, reason=wish.value, text=memory.text, at=now,
        )  # fmt: skip
    if wish in (Wish.PIN, Wish.UNPIN):  # of what is being forgotten nothing is to be learned in a hurry
        learn_soon(memory.bank_id, owner_id=memory.owner_id, now=now)
