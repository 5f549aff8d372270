"""The embedded Valkey: private, durable, started again after anything."""

import os
import signal

import redis

from agora_web.local.paths import LocalPaths
from agora_web.local.valkey import EmbeddedValkey


def client(paths: LocalPaths) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(paths.valkey_socket), decode_responses=True)


def test_it_keeps_what_was_written_through_kill_9_and_has_no_tcp_port(
    valkey: EmbeddedValkey, paths: LocalPaths
) -> None:
    child = valkey.start()
    with client(paths) as connection:
        for number in range(1000):
            connection.xadd("stream", {"n": number})
        assert connection.config_get("port", "maxmemory-policy") == {
            "port": "0",
            "maxmemory-policy": "noeviction",
        }
    assert paths.valkey_socket.stat().st_mode & 0o077 == 0
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(2)
    assert not valkey.is_running()

    valkey.start()
    with client(paths) as connection:
        assert connection.xlen("stream") == 1000


def test_one_that_lost_its_supervisor_is_ended_before_a_new_one_starts(
    valkey: EmbeddedValkey, paths: LocalPaths
) -> None:
    first = valkey.start()
    second = EmbeddedValkey(paths)
    second.start()
    assert first.wait(2)
    assert second.is_running()
    second.stop()
    assert not second.is_running()
