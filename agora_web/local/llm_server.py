"""The demo LLM: SmolLM2-135M behind an OpenAI-compatible server on loopback, in a process of its own.

    python -m agora_web.local.llm_server --home HOME

It takes a free port and writes ``run/llm.json`` once it answers; the file is gone when it is.
"""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

import xllamacpp

from agora_web.local.paths import LocalPaths
from agora_web.local.wheels import demo_model

MODEL = "smollm2-135m-instruct"


def parameters(model: Path, *, context: int, threads: int) -> "xllamacpp.CommonParams":
    """What the server is told: loopback, any free port, one answer at a time, no page of its own."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_threads_http = 4
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0  # the last prompt's cache is enough; the default would take 8 GiB
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = "http://127.0.0.1"  # no web page may talk to it from a browser
    params.verbosity = 1
    return params


def announce(path: Path, base_url: str) -> None:
    """Write the address in one step: a reader finds the whole file or none."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps({"base_url": base_url, "model": MODEL, "pid": os.getpid()}))
    beside.replace(path)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Serve AGORA's demo LLM on loopback.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--context", type=int, default=4096, help="tokens of context")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    arguments = parser.parse_args(argv)
    paths = LocalPaths(arguments.home)
    paths.make()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: sys.exit(0))
    try:
        server = xllamacpp.Server(parameters(demo_model(), context=arguments.context, threads=arguments.threads))
        announce(paths.llm_json, f"{server.listening_address}/v1")
        while True:
            signal.pause()
    finally:
        paths.llm_json.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
