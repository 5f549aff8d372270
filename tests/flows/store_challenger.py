"""Stores a challenger in the home that the environment names: python -m tests.flows.store_challenger VERSION

It values what the shipped adapter does not, and a run that has ended finds it better. Prints the version as JSON.
"""

import json
import sys

import django


def main(version: str) -> None:
    django.setup()
    from memory.adapters import register_adapter, shipped_adapter
    from tests.training.services.challengers import ended_run, stored, upside_down

    register_adapter(shipped_adapter())
    ended_run(stored(upside_down(version), window=["2026-01-02", "2026-11-20"], labels=412))
    print(json.dumps(version))


if __name__ == "__main__":
    main(sys.argv[1])
