"""A peer as the bench runs one: it finds by cosine, and breaks down where a side or a cue tells it to."""

import os
import time

PACKAGES = ("numpy",)


def open_bank(folder, width, given):
    return ToyBank(width, given)


class ToyBank:
    def __init__(self, width, given):
        self._width, self._given, self._held = width, given, {}

    def add(self, sides):
        print("what a package prints is no answer")
        for side, role, text in sides:
            if "die now" in text:
                os._exit(3)
            assert role in ("user", "assistant", "tool", "other")
            self._held[side] = self._given[text]
            assert len(self._held[side]) == self._width

    def search(self, text, limit):
        if "hang" in text:
            time.sleep(60)
        if "break" in text:
            raise RuntimeError("no such index")
        cue = self._given[text]
        return sorted(self._held, key=lambda side: -sum(map(float.__mul__, cue, self._held[side])))[:limit]

    def close(self):
        print("closed")
