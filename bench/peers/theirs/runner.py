"""Runs one peer's bank for the bench in the peer's own Python: a JSON line in, a JSON line out.

    python runner.py FILE FOLDER

FILE is the peer: it names its `PACKAGES` and has `open_bank(folder, width, given)`, whose result adds and searches.
Nothing of AGORA is imported. Vectors come along with their texts, so the peer's embedder only looks them up and no time
measured here holds any encoding. Times are taken around the peer's own call: the pipe is in none of them.
"""

import base64
import importlib
import itertools
import json
import os
import socket
import sys
import time
from array import array
from importlib.metadata import version
from pathlib import Path


def main():
    file, folder = Path(sys.argv[1]), Path(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a package prints must not be taken for an answer
    try:
        _stay_offline()
        sys.path.insert(0, str(file.parent))
        bench = Bench(importlib.import_module(file.stem), folder)
        for line in sys.stdin:
            answers.write(json.dumps(bench.answer(json.loads(line))) + "\n")
        bench.close()
    except Exception as error:
        answers.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        raise


class Bench:
    """One peer, with at most one bank open."""

    def __init__(self, peer, folder):
        self._peer, self._folder, self._numbers = peer, folder, itertools.count()
        self._given = {}  # the vectors of the texts in hand
        self._bank = None

    def answer(self, asked):
        return getattr(self, f"do_{asked['do']}")(asked)

    def do_open(self, asked):
        self.close()
        folder = self._folder / str(next(self._numbers))
        folder.mkdir(parents=True)
        self._bank = self._peer.open_bank(folder, asked["width"], self._given)
        return {"version": ", ".join(f"{name} {version(name)}" for name in self._peer.PACKAGES)}

    def do_add(self, asked):
        self._take(asked["sides"])
        started = time.perf_counter()
        self._bank.add([(side["id"], side["role"], side["text"]) for side in asked["sides"]])
        return {"ms": (time.perf_counter() - started) * 1000}

    def do_search(self, asked):
        self._take([asked])
        started = time.perf_counter()
        found = self._bank.search(asked["text"], asked["limit"])
        return {"ms": (time.perf_counter() - started) * 1000, "ids": found}

    def close(self):
        if self._bank is not None:
            self._bank.close()

    def _take(self, texts):
        self._given.clear()
        for one in texts:
            vector = array("f", base64.b64decode(one["vector"])).tolist()
            self._given[one["text"]] = self._given[one["text"].strip()] = vector


def _stay_offline():
    """What is measured must not wait for a network, and must not tell anybody."""

    def refuse(*_):
        raise OSError("peers are measured offline")

    socket.socket.connect = refuse
    socket.getaddrinfo = refuse


if __name__ == "__main__":
    main()
