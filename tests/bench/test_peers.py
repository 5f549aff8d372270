"""The bench beside other memory systems, with a toy peer behind the real protocol: nothing is installed here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from bench import peers
from bench.__main__ import main
from bench.peers import environment, recalling, turns
from bench.peers.environment import PACKAGES, PEERS, THEIRS, command_of, python_of
from bench.peers.process import Peer, PeerFailed, Told
from bench.recall import figures, rows_of
from bench.streams import Measured
from bench.table import Row
from memory.engine.prior import prior
from tests.bench.test_recall import asked
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import facts, stream
from training.learner.streams import Stream
from training.learner.vectors import DiskCachedEncoder

TOY = [sys.executable, str(THEIRS / "runner.py"), str(Path(__file__).parent / "toy_peer.py")]


def started(name: str, seconds: float = 30.0) -> Peer:
    return Peer(name, TOY, seconds=seconds)


@pytest.fixture
def peer() -> Iterator[Peer]:
    with started("toy") as one:
        one.open(2)
        yield one


def told(name: str, text: str, *vector: float) -> Told:
    return Told(name, "user", text, np.array(vector, dtype=np.float32))


# --- the protocol ---------------------------------------------------------------------------------------------------


def test_a_peer_is_told_sides_and_gives_their_ids_back_best_first(peer: Peer) -> None:
    assert peer.version == f"numpy {np.__version__}"
    assert peer.add([told("a", "Tea, naïve", 1, 0), told("b", "Bruno", 0, 1)]) >= 0
    assert peer.add([told("c", "Both", 0.7, 0.7)]) >= 0
    found, ms = peer.search("  What?\n", np.array([0.1, 0.9], dtype=np.float32), 2)
    assert found == ["b", "c"]
    assert ms > 0


def test_an_opened_bank_is_empty_whatever_was_told_before(peer: Peer) -> None:
    peer.add([told("a", "Tea", 1, 0)])
    peer.open(2)
    assert peer.search("Tea?", np.array([1, 0], dtype=np.float32), 5)[0] == []


def test_vectors_reach_a_peer_unrounded(peer: Peer) -> None:
    near = np.nextafter(np.float32(0.3), np.float32(1))
    peer.add([told("a", "One", 0.3, 0), told("b", "Other", near, 0)])
    assert peer.search("?", np.array([1, 0], dtype=np.float32), 5)[0] == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "says"), [("please break", "RuntimeError: no such index"), ("please hang", "no answer within 2 s")]
)
def test_a_peer_that_breaks_down_or_hangs_is_told_of_in_a_sentence(text: str, says: str) -> None:
    with started("toy", seconds=2.0) as one:
        one.open(2)
        with pytest.raises(PeerFailed, match=f"toy failed and has no rows: .*{says}"):
            one.search(text, np.array([1, 0], dtype=np.float32), 5)


def test_a_peer_that_dies_is_told_of_in_a_sentence(peer: Peer) -> None:
    for _ in range(2):  # when it dies, and when it is long dead
        with pytest.raises(PeerFailed, match="toy failed and has no rows: it has ended"):
            peer.add([told("a", "die now", 1, 0)])


def test_a_peer_that_cannot_start_is_told_of_with_its_last_words() -> None:
    with Peer("gone", [sys.executable, "-c", "raise SystemExit('no module named gone')"]) as one:
        with pytest.raises(PeerFailed, match="it has ended; its last words: no module named gone"):
            one.open(2)


def test_a_peer_sees_no_network_and_none_of_our_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    (tmp_path / "curious.py").write_text(
        "import os, socket\nPACKAGES = ()\n\ndef open_bank(folder, width, given):\n"
        "    assert 'OPENAI_API_KEY' not in os.environ and os.environ['MEM0_TELEMETRY'] == 'False'\n"
        "    assert os.environ['HOME'] in str(folder) and not any(folder.iterdir())\n"
        "    socket.create_connection(('127.0.0.1', 9))\n"
    )
    with Peer("curious", [*TOY[:2], str(tmp_path / "curious.py")]) as one:
        with pytest.raises(PeerFailed, match="OSError: peers are measured offline"):
            one.open(2)


# --- recall ---------------------------------------------------------------------------------------------------------


def what_of(folder: Path, *test: Stream) -> Measured:
    return Measured("toy", test, (), DiskCachedEncoder(toy_encoder(), folder / "vectors"), prior())


def test_peers_have_the_same_rows_as_the_other_methods_and_their_own_versions(tmp_path: Path) -> None:
    rows = recalling.measure(what_of(tmp_path, facts(), facts("second")), started, ["mem0", "langgraph"])
    kinds = {
        method: [(row.metric, row.level, row.category, row.n) for row in rows if row.method == method]
        for method in ("agora", "random", "bm25", "cosine", "mem0", "langgraph")
    }
    assert {row.method for row in rows} == kinds.keys()
    assert all(kind == kinds["agora"] for kind in kinds.values())
    assert {row.adapter for row in rows if row.method == "mem0"} == {f"numpy {np.__version__}"}
    assert {row.adapter for row in rows if row.method == "agora"} == {prior().version}


def test_a_peer_that_ranks_by_cosine_has_the_figures_of_cosine(tmp_path: Path) -> None:
    """So what it was told, in which order and with which vectors, is what the engine holds."""
    rows = recalling.measure(what_of(tmp_path, facts()), started, ["mem0"])
    values = {
        method: [row.value for row in rows if row.method == method and row.metric != "tokens@10"]
        for method in ("cosine", "mem0")
    }
    assert values["mem0"] == values["cosine"]


def test_a_peer_that_dies_has_no_rows_and_the_others_keep_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(name: str) -> Peer:
        return started(name) if name == "langgraph" else Peer(name, [sys.executable, "-c", ""])

    rows = recalling.measure(what_of(tmp_path, facts()), start, ["mem0", "langgraph"])
    assert {row.method for row in rows} == {"agora", "random", "bm25", "cosine", "langgraph"}
    assert "mem0 failed and has no rows: it has ended" in capsys.readouterr().out


def test_what_a_peer_does_not_return_is_never_found() -> None:
    told = stream("deep", ["My bike is red", "Nice", "I drink tea", "Fine"], asked=[("Tea?", ["0:2", "0:0"])])
    one = asked(told, 0, [])
    found = replace(one, scores={"toy": np.array([-inf, -1, 0, -inf], dtype=np.float32)})
    values = figures(found, "toy")
    assert [values["turn", f"{name}@50"] for name in ("any", "all", "mean")] == [1, 0, 0.5]
    assert values["turn", "mrr"] == 1
    nothing = replace(one, scores={"toy": np.full(4, -inf, dtype=np.float32)})
    assert set(figures(nothing, "toy").values()) == {0.0}
    assert {row.value for row in rows_of([nothing])} == {0.0}


# --- what a turn costs ----------------------------------------------------------------------------------------------

METRICS = {
    "add_search_ms_p50", "add_search_with_encoder_ms_p50", "add_ms_p50", "search_ms_p50", "encoder_ms_p50",
}  # fmt: skip


def test_agora_and_each_peer_have_their_times_side_by_side(database: None, capsys: pytest.CaptureFixture[str]) -> None:
    with started("mem0") as mem0:
        rows = turns.measure({"mem0": mem0}, size=8, turns=3, seed=7)
    named = {method: {row.metric: row for row in rows if row.method == method} for method in ("agora", "mem0")}
    assert named["mem0"].keys() == METRICS
    assert named["agora"].keys() == METRICS | {"commit_ms_p50"}
    assert {(row.n, row.size, row.unit, row.data) for row in rows} == {(3, 8, "ms", "generated")}
    for found in named.values():
        assert found["add_search_with_encoder_ms_p50"].value > found["add_search_ms_p50"].value > 0
    assert named["mem0"]["add_ms_p50"].adapter == f"numpy {np.__version__}"


def test_a_peer_that_dies_between_turns_has_no_times(
    database: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with started("mem0") as mem0, started("langgraph") as langgraph:
        whole, asked_of = mem0.search, []

        def search(*about: object) -> tuple[list[str], float]:
            asked_of.append(about)
            if len(asked_of) == turns.WARM_UP + 2:
                mem0._process.kill()
                mem0._process.wait()
            return whole(*about)  # type: ignore[arg-type]

        monkeypatch.setattr(mem0, "search", search)
        rows = turns.measure({"mem0": mem0, "langgraph": langgraph}, size=6, turns=3, seed=8)
    assert {row.method for row in rows} == {"agora", "langgraph"}
    assert {row.n for row in rows} == {3}
    assert "mem0 failed and has no rows" in capsys.readouterr().out


def test_the_printed_table_has_a_column_a_method() -> None:
    rows = [Row("add_ms_p50", 1.234, method="agora"), Row("commit_ms_p50", 2.0, method="agora"),
            Row("add_ms_p50", 5.678, method="mem0")]  # fmt: skip
    heading, adds, commits = turns.shown(rows).splitlines()
    assert heading.split()[-2:] == ["agora", "mem0"]
    assert adds.split() == ["add_ms_p50", "1.23", "5.68"]
    assert commits.split() == ["commit_ms_p50", "2.00"]


# --- the environment and the command --------------------------------------------------------------------------------


def test_every_peer_has_its_file_and_pinned_packages() -> None:
    for name in PEERS:
        assert Path(command_of(Path("python"), name)[2]).exists()
    assert all("==" in package for package in PACKAGES)
    assert {"mem0ai", "langgraph"} <= {package.split("==")[0] for package in PACKAGES}


def test_packages_that_cannot_be_installed_are_told_of_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setattr(environment.sys, "executable", "/bin/true")  # the environment is there, with a pip that fails
    (folder / "bin" / "python").write_text("#!/bin/sh\necho 'Collecting' >&2\necho 'ERROR: no index' >&2\nexit 1\n")
    (folder / "bin" / "python").chmod(0o755)
    with pytest.raises(SystemExit, match=r"cannot be installed .*, so nothing is measured \(ERROR: no index\)"):
        python_of(folder)
    assert not (folder / "peers.txt").exists()


def test_without_an_interpreter_for_the_environment_there_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.sys, "executable", "/nowhere/python")
    with pytest.raises(SystemExit, match="cannot be installed"):
        python_of(tmp_path / "venv")


def test_an_environment_is_made_once_and_again_when_the_pins_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[list[str]] = []
    monkeypatch.setattr(
        environment, "_done", lambda command, folder: run.append(command) or folder.mkdir(exist_ok=True)
    )
    folder = tmp_path / "venv"
    assert python_of(folder) == folder / "bin" / "python"
    python_of(folder)
    assert [command[1:3] for command in run] == [["-m", "venv"], ["-m", "pip"]]
    assert run[1][4:] == list(PACKAGES)
    monkeypatch.setattr(environment, "PACKAGES", ("mem0ai==0",))
    python_of(folder)
    assert len(run) == 4


def test_the_command_writes_the_rows_of_both_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "python_of", lambda folder: Path("python"))
    monkeypatch.setattr(peers, "measured", lambda arguments: arguments.test)
    monkeypatch.setattr(recalling, "run", lambda what, python: [Row("mrr", 1.0)])
    monkeypatch.setattr(turns, "run", lambda python, *, size, turns, seed: [Row("add_ms_p50", float(turns), size=size)])
    monkeypatch.setattr("bench.__main__.scratch_home", nullcontext)
    for words, metrics in (
        (["--turns", "0", "--format", "locomo", "--test", "f"], {"mrr"}),
        (["--size", "9"], {"add_ms_p50"}),
        (["--format", "locomo", "--test", "f"], {"mrr", "add_ms_p50"}),
    ):
        assert main(["peers", "--json", str(tmp_path / "rows.json"), *words]) == 0
        text = (tmp_path / "rows.json").read_text()
        assert {metric for metric in ("mrr", "add_ms_p50") if f'"{metric}"' in text} == metrics
    with pytest.raises(SystemExit, match="Give --format and --test together"):
        main(["peers", "--test", "f"])
