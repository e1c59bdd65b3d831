"""The long comparison (tests/exact_grid.py) on a tiny model: it finds differences, it goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli.bench_prompts import Prompt
from engine.session import ChatSession
from tests import exact_grid
from tests.engine.conftest import Loaded
from tests.exact_grid import by_turns, first_difference, grid, main
from tests.tiny import Tiny, TinySource

BRITTLE = Tiny(precision="int8", source=TinySource(ties=0.01, brittle=True))
TEXTS = ("hello there", "the quick brown fox", "an apple")


@pytest.fixture
def arguments(tiny: Loaded, tmp_path: Path) -> list[str]:
    """Prompts, a model on which the last bit shows, and a file that is not there yet."""
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("\n".join(json.dumps({"id": t, "prompt": t}) for t in TEXTS))
    model = str(tiny(BRITTLE).folder)
    return [str(prompts), "--model", model, "--out", str(tmp_path / "out.jsonl"), "--threads", "1"]


def lines(arguments: list[str]) -> list[dict[str, object]]:
    """What the file holds."""
    return [json.loads(line) for line in Path(arguments[4]).read_text().splitlines()]


def test_it_finds_none_where_there_is_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exact trees pass, and the figures come from records in which rows were really run again."""
    flags = ["--new-tokens", "60", "--settings", "4,4,12; lookahead 4,8"]
    assert main([*arguments, *flags]) == 0
    found = lines(arguments)
    assert len(found) == len(TEXTS) * 2 * 3
    assert {r["setting"]: r["same"] for r in found} == {
        "plain, 2 rows": None, "eagle 4,4,12": True, "lookahead 4,8": True,
    }  # fmt: skip
    trees = [r for r in found if r["setting"] == "eagle 4,4,12"]
    assert all(0 < r["replayed"] == r["provisional"] for r in trees)
    assert all(r["emitted"] == 59 and r["rounds"] < 59 for r in trees)
    assert "12 of 12 replies" in capsys.readouterr().out


def test_it_finds_a_difference(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without exactness this model's trees leave plain decoding: the script must say so, where, and fail."""
    flags = ["--new-tokens", "120", "--settings", "4,4,12 inexact", "--temperature", "0"]
    assert main([*arguments, *flags]) == 1
    out = capsys.readouterr().out
    differing = [r for r in lines(arguments) if r["same"] is False]
    assert differing
    for r in differing:
        assert f"eagle 4,4,12, inexact, prompt {r['prompt']}, temperature 0: differs from token" in out
        theirs = next(x["ids"] for x in lines(arguments) if x["prompt"] == r["prompt"] and x["same"] is None)
        assert first_difference(r["ids"], theirs) == r["first_difference"]
    assert main([*arguments, "--summary-only"]) == 1


def test_it_goes_on_where_it_stopped(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle of a line and started again: nothing is lost, nothing is done twice, nothing changes."""
    flags = [*arguments, "--new-tokens", "20", "--settings", "2,3,4"]
    assert main(flags) == 0
    path, whole = Path(arguments[4]), lines(arguments)
    kept = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(kept[:5]) + kept[5][:30])
    runs = 0

    def counted(*args: object) -> object:
        nonlocal runs
        runs += 1
        return reply(*args)  # type: ignore[arg-type]

    reply = exact_grid.reply
    monkeypatch.setattr(exact_grid, "reply", counted)
    assert main(flags) == 0
    assert runs == len(whole) - 5
    assert [{**r, "ms": 0} for r in lines(arguments)] == [{**r, "ms": 0} for r in whole]
    assert main(flags) == 0
    assert runs == len(whole) - 5


def test_a_look_at_the_file_changes_nothing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The summary of a grid that still runs: its writer may be in the middle of a line."""
    assert main([*arguments, "--new-tokens", "5", "--settings", "2,3,4", "--temperature", "0"]) == 0
    path = Path(arguments[4])
    half = path.read_bytes()[:-20]
    path.write_bytes(half)
    capsys.readouterr()
    assert main([*arguments, "--summary-only"]) == 0
    assert "2 of 2 replies" in capsys.readouterr().out
    assert path.read_bytes() == half


def test_the_grid_has_no_tree_twice() -> None:
    """Two lengths beyond the pool of a tree are one tree: running both would be waste."""
    trees = [(d.topk, d.depth, d.length) for d in grid() if d.strategy == "eagle" and not d.copied]
    assert len(set(trees)) == len(trees) == 21
    assert trees[:4] == [(1, 3, 3), (1, 5, 4), (1, 5, 5), (2, 3, 4)]
    assert {(4, 5, 16), (8, 3, 8), (8, 5, 16)} <= set(trees)
    assert [d.strategy for d in grid()[21:]] == ["lookahead", "eagle"]


def test_prompts_take_turns_by_category() -> None:
    """An hour of the grid must not be an hour of one kind of prompt."""
    prompts = [Prompt(f"{c}{i}", c, "x") for c, count in (("a", 3), ("b", 1), ("c", 2)) for i in range(count)]
    assert [p.id for p in by_turns(prompts)] == ["a0", "b0", "c0", "a1", "c1", "a2"]


@pytest.mark.parametrize(("ids", "want", "at"), [("ab", "ab", None), ("ab", "ac", 1), ("a", "ab", 1), ("ab", "a", 1)])
def test_a_shorter_reply_differs_too(ids: str, want: str, at: int | None) -> None:
    """Where one ends and the other goes on is a difference."""
    assert first_difference([ord(c) for c in ids], [ord(c) for c in want]) == at


def test_every_run_is_a_fresh_session(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows left by another run would hide what a setting computes."""
    reused = []
    generate = ChatSession.generate

    def spy(self: ChatSession, *args: object, **more: object) -> object:
        for event in generate(self, *args, **more):  # type: ignore[arg-type]
            reused.append(getattr(event, "reused_tokens", 0))
            yield event

    monkeypatch.setattr(ChatSession, "generate", spy)
    assert main([*arguments, "--new-tokens", "5", "--settings", "2,3,4", "--temperature", "0"]) == 0
    assert set(reused) == {0}


def test_one_session_per_prompt_tries_reused_rows(arguments: list[str]) -> None:
    """`--reuse` must stand on rows that other settings left, and a prompt's first reply on none."""
    flags = ["--new-tokens", "60", "--settings", "4,4,12; lookahead 4,8", "--temperature", "0", "--reuse"]
    assert main([*arguments, *flags]) == 0
    reused = [r["reused"] for r in lines(arguments)]
    assert reused[::3] == [0] * len(TEXTS)
    assert all(isinstance(n, int) and n > 1 for i, n in enumerate(reused) if i % 3)
