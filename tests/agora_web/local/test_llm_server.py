"""The demo LLM in a process of its own."""

import json
import signal
import sys
import urllib.request

from agora_web.local.paths import LocalPaths
from agora_web.local.processes import StopRule, start_child, tail, wait_until


def test_it_answers_like_an_openai_server_on_loopback_and_its_address_goes_with_it(paths: LocalPaths) -> None:
    argv = [sys.executable, "-m", "agora_web.local.llm_server", "--home", str(paths.home), "--context", "512"]
    log = paths.log_of("llm")
    child = start_child("llm", argv, log=log, pid_file=paths.pid_of("llm"), stop_rule=StopRule(signal.SIGTERM, 3))
    try:
        assert wait_until(paths.llm_json.exists, 30, child), tail(log)
        told = json.loads(paths.llm_json.read_text())
        assert told["base_url"].startswith("http://127.0.0.1:")
        question = {
            "model": told["model"],
            "max_tokens": 12,
            "temperature": 0,
            "messages": [{"role": "user", "content": "Ann's dog is called Rex. What is Ann's dog called?"}],
        }
        request = urllib.request.Request(
            told["base_url"] + "/chat/completions",
            data=json.dumps(question).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert "Rex" in json.load(answer)["choices"][0]["message"]["content"]
    finally:
        child.end()
    assert child.exit_code() == 0
    assert not paths.llm_json.exists()
