from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.bench_run import PLAIN_ONE, PLAIN_TWO
from app.cli.bench_settings import Draft, drafts
from engine import EngineConfig, Event, Round, Turn, TurnStart
from tests.app.cli.conftest import Cli
from tests.fake_engine import FakeSession
from tests.fake_turn import fake_turn

CHAIN, TREE = "eagle 1,3,3", "eagle 4,5,10"


@pytest.fixture
def by_strategy(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, EngineConfig]]:
    """Make sessions answer with plain rounds when they decode plainly; returns (prompt, config) of every turn."""
    asked: list[tuple[str, EngineConfig]] = []
    eagle = fake_turn(1, finish="length")
    plain = fake_turn(1, strategy="plain", rounds=len(eagle.tokens) - 1)

    def generate(self: FakeSession, messages: list[dict[str, str]], *args: object, **more: object) -> Iterator[Event]:
        asked.append((messages[0]["content"], self.config))
        turn: Turn = eagle if self.config.speculative_type else plain
        self._next = iter([turn])
        return ORIGINAL(self, messages, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeSession, "generate", generate)
    return asked


ORIGINAL = FakeSession.generate


def prompts_file(tmp_path: Path, count: int = 3) -> str:
    """A prompts file with two categories."""
    path = tmp_path / "prompts.jsonl"
    lines = [
        json.dumps({"id": i, "category": "even" if i % 2 == 0 else "odd", "prompt": f"p{i}"}) for i in range(count)
    ]
    path.write_text("\n".join(lines))
    return str(path)


def test_every_setting_meets_every_prompt_in_turning_order(
    cli: Cli, by_strategy: list[tuple[str, EngineConfig]], tmp_path: Path
) -> None:
    """Drift of the machine must hit all settings alike; the warm-up comes first and is short."""
    result = cli("bench", "--prompts", prompts_file(tmp_path), "--new-tokens", "30")
    assert result.code == 0
    warm, measured = by_strategy[:4], by_strategy[4:]
    assert {c.max_new_tokens for _, c in warm} == {24}
    assert {c.max_new_tokens for _, c in measured} == {30}
    orders = [[_name(c) for _, c in measured[i : i + 4]] for i in range(0, 12, 4)]
    names = [PLAIN_ONE, PLAIN_TWO, CHAIN, TREE]
    assert orders == [names, [*names[1:], names[0]], [*names[2:], *names[:2]]]
    assert [p for p, _ in measured] == ["p0"] * 4 + ["p1"] * 4 + ["p2"] * 4


def _name(config: EngineConfig) -> str:
    if not config.speculative_type:
        return PLAIN_ONE if config.plain_rows == 1 else PLAIN_TWO
    return f"eagle {config.eagle_topk},{config.eagle_depth},{config.draft_predict_length}"


def test_the_table_says_what_matters(cli: Cli, by_strategy: list[tuple[str, EngineConfig]], tmp_path: Path) -> None:
    """τ, speed-up with spread, identical texts, phases, depths, exactness: one row per setting in each."""
    result = cli("bench", "--prompts", prompts_file(tmp_path), "--by-category", "--settings", "4,5,10")
    tau = fake_turn(1, finish="length").stats().tau
    rows = [line.split("  ") for line in result.out.splitlines()]
    tree_rows = [" ".join(r) for r in rows if r[0].startswith(TREE)]
    assert len(tree_rows) == 4
    assert f"{tau:.2f}" in tree_rows[0]
    assert tree_rows[0].endswith("3/3")
    assert "reference" in result.out
    assert "even" in result.out
    assert "odd" in result.out
    assert CHAIN not in result.out


def test_differences_are_listed(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which prompt, which token, how close: enough to look at it again."""

    def generate(self: FakeSession, *args: object, **more: object) -> Iterator[Event]:
        self._next = iter([fake_turn(1 if self.config.speculative_type else 2)])
        return ORIGINAL(self, *args, **more)  # type: ignore[arg-type]

    reference, other = fake_turn(2), fake_turn(1)
    ids, others = ([t.id for t in turn.tokens] for turn in (reference, other))
    at = min(len(ids), len(others))
    longer = reference if len(ids) > at else other
    monkeypatch.setattr(FakeSession, "generate", generate)
    result = cli("bench", "--prompts", prompts_file(tmp_path, 1), "--settings", "1,3,3")
    assert f"{CHAIN}: prompt 0 at token {at}, top-two margin {longer.tokens[at].margin:.2g}" in result.out
    assert "0/1" in result.out


def test_every_figure_is_in_the_file(cli: Cli, by_strategy: list[tuple[str, EngineConfig]], tmp_path: Path) -> None:
    """Machine, one object per prompt and setting, summary; strict JSON without NaN."""
    path = tmp_path / "figures.jsonl"
    cli("bench", "--prompts", prompts_file(tmp_path), "--json", str(path), "--repeat", "2", "--temperature", "0.5")
    lines = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]
    machine, *rest = lines
    assert machine["sampling"]["temperature"] == 0.5
    assert machine["versions"]["onnxruntime"]
    assert set(machine["settings"]) == {PLAIN_ONE, PLAIN_TWO, CHAIN, TREE}
    runs = [line for line in rest if line["kind"] == "run"]
    assert len(runs) == 2 * 3 * 4
    assert len({(r["prompt"], r["setting"], r["repeat"]) for r in runs}) == len(runs)
    tree = next(r for r in runs if r["setting"] == TREE)
    assert tree["same_text"]
    assert tree["tau"] == pytest.approx(fake_turn(1, finish="length").stats().tau)
    assert tree["speedup"] > 0
    assert [line["setting"] for line in rest if line["kind"] == "summary"] == [PLAIN_ONE, PLAIN_TWO, CHAIN, TREE]


def test_ctrl_c_keeps_what_was_measured(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Half an hour of measuring must not be lost; only whole prompts count."""
    turns = 0

    def generate(self: FakeSession, *args: object, **more: object) -> Iterator[Event]:
        nonlocal turns
        turns += 1
        for event in ORIGINAL(self, *args, **more):  # type: ignore[arg-type]
            yield event
            if turns == 3 + 3 + 2 and isinstance(event, Round) and event.index == 1:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(FakeSession, "generate", generate)
    path = tmp_path / "figures.jsonl"
    result = cli("bench", "--prompts", prompts_file(tmp_path), "--settings", "1,3,3", "--json", str(path))
    assert result.code == 130
    assert "3 of 9 turns were measured" in result.err
    assert CHAIN in result.out
    assert sum(json.loads(line)["kind"] == "run" for line in path.read_text().splitlines()) == 3


def test_without_a_head_only_plain_is_measured(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Measuring "eagle" that silently decodes plainly would be a lie."""
    load = cli.engine._load

    def headless(*args: object, **more: object) -> object:
        model = load(*args, **more)  # type: ignore[arg-type]
        model.has_draft = False
        return model

    monkeypatch.setattr(cli.engine, "_load", headless)
    assert "eagle" not in cli("bench", "--prompts", prompts_file(tmp_path)).out
    refused = cli("bench", "--prompts", prompts_file(tmp_path), "--settings", "1,3,3")
    assert refused.code == 1
    assert "no draft head" in refused.err


def test_other_drafters_are_measured(cli: Cli, by_strategy: list[tuple[str, EngineConfig]], tmp_path: Path) -> None:
    """Rows by their short names; lookahead's own flags reach every turn."""
    flags = ["--settings", "mtp 3; lookahead 8", "--strictness", "high", "--ngram-update"]
    result = cli("bench", "--prompts", prompts_file(tmp_path, 1), *flags)
    assert result.code == 0
    asked = {c.speculative_type: c for _, c in by_strategy}
    assert asked.keys() == {"", "mtp", "lookahead"}
    assert (asked["mtp"].draft_predict_length, asked["lookahead"].draft_predict_length) == (3, 8)
    assert {(c.draft_match_strictness, c.ngram_update) for c in asked.values()} == {("high", True)}
    assert all(any(line.startswith(name) for line in result.out.splitlines()) for name in ("mtp 3", "lookahead 1,8"))


def test_the_cost_of_exactness_is_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A setting beside its inexact twin, in one run: what was run again, what changed, and what it cost."""
    asked: list[tuple[str, bool]] = []

    def generate(self: FakeSession, *args: object, **more: object) -> Iterator[Event]:
        asked.append((self.config.speculative_type, self.config.exact))
        self._next = iter([again if self.config.speculative_type and self.config.exact else fake_turn(1)])
        return ORIGINAL(self, *args, **more)  # type: ignore[arg-type]

    again = _with_waits(fake_turn(1))
    monkeypatch.setattr(FakeSession, "generate", generate)
    path = tmp_path / "figures.jsonl"
    flags = ["--settings", "4,5,10; 4,5,10 inexact", "--json", str(path)]
    result = cli("bench", "--prompts", prompts_file(tmp_path, 2), *flags)
    assert result.code == 0
    assert set(asked) == {("", True), ("eagle", True), ("eagle", False)}
    rows = [line.split() for line in result.out.splitlines()]
    per_round = f"{3 / len(again.rounds):.2f}"
    assert ["eagle", "4,5,10", "6", per_round, "6", "2", "33.3", "%"] in rows
    assert ["eagle", "4,5,10,", "inexact", "0", "0.00", "0", "0", "-"] in rows
    assert any(line.startswith("cost of exactness") for line in result.out.splitlines())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = {line["setting"]: line for line in lines if line["kind"] == "summary"}
    assert (found[TREE]["replayed"], found[TREE]["provisional"], found[TREE]["corrected"]) == (6, 6, 2)
    assert found[TREE]["corrected_share"] == pytest.approx(1 / 3)
    assert found[f"{TREE}, inexact"]["corrected_share"] is None
    assert {r["corrected"] for r in lines if r["kind"] == "run" and r["setting"] == TREE} == {1}
    assert lines[0]["settings"][f"{TREE}, inexact"]["exact"] is False


def _with_waits(turn: Turn) -> Turn:
    """The same turn with two tokens that waited and were confirmed, and one that was corrected."""
    waiting, following, wrong, right = turn.rounds[3:7]
    turn.rounds[3] = replace(waiting, provisional=following.emitted[:1] * 2)
    turn.rounds[4] = replace(following, replayed=following.emitted[:1] * 2)
    turn.rounds[5] = replace(wrong, provisional=right.emitted[:1])
    nodes = (right.nodes[0]._replace(target_prob=math.nan), *right.nodes[1:])
    turn.rounds[6] = replace(right, replayed=right.emitted[:1], nodes=nodes)
    return turn


def test_a_drafter_the_model_lacks_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The engine decodes plainly instead and says why; a measurement must not."""

    def generate(self: FakeSession, *args: object, **more: object) -> Iterator[Event]:
        for event in ORIGINAL(self, *args, **more):  # type: ignore[arg-type]
            missing = isinstance(event, TurnStart) and self.config.speculative_type == "mtp"
            yield replace(event, reason="no MTP head") if missing else event

    monkeypatch.setattr(FakeSession, "generate", generate)
    result = cli("bench", "--prompts", prompts_file(tmp_path, 1), "--settings", "mtp 3")
    assert result.code == 1
    assert "mtp 3 cannot be measured: no MTP head" in result.err


def test_settings_are_parsed() -> None:
    """Semicolons and spaces as people write them; twice the same is once."""
    assert drafts("1,3,3; 4,5,10;1,3,3;") == [Draft("eagle", 1, 3, 3), Draft("eagle", 4, 5, 10)]
    found = drafts("eagle 2,4,6; mtp 3; lookahead 8; lookahead 4,8;lookahead 1, 8")
    assert found == [
        Draft("eagle", 2, 4, 6),
        Draft("mtp", 1, 1, 3),
        Draft("lookahead", 1, 1, 8),
        Draft("lookahead", 4, 1, 8),
    ]
    assert drafts("2,2,3,2") == [Draft("eagle", 2, 2, 3, copied=2)]
    assert drafts("2,4,8,2 from 0.1; 4,6,16,2 merge; 2,4,8 from .2 merge inexact; lookahead 8 from 0.6") == [
        Draft("eagle", 2, 4, 8, copied=2, least=0.1),
        Draft("eagle", 4, 6, 16, copied=2, merged=True),
        Draft("eagle", 2, 4, 8, least=0.2, merged=True, exact=False),
        Draft("lookahead", 1, 1, 8, least=0.6),
    ]
    assert all(drafts(d.name) == [d] for d in drafts("2,4,8,2 from 0.1; 4,6,16 merge inexact; lookahead 4,8 from 0.6"))
    assert drafts("4,5,10; 4,5,10 inexact; mtp 3 inexact; lookahead 4,8, inexact") == [
        Draft("eagle", 4, 5, 10),
        Draft("eagle", 4, 5, 10, exact=False),
        Draft("mtp", 1, 1, 3, exact=False),
        Draft("lookahead", 4, 1, 8, exact=False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1,3",
        "1,3,x",
        "1,3,3,",
        "99,3,3",
        "1;2;3",
        "mtp",
        "mtp 1,2",
        "lookahead",
        "medusa 3",
        "inexact",
        "4 inexact",
        "2,4,8,2 from 1.5",
        "2,4,8,2 from",
        "2,4,8,2 inexact from 0.1",
        "2,4,8,2,0.1,1",
        "mtp 3 merge",
        "merge",
    ],
)
def test_wrong_settings_are_usage_errors(cli: Cli, text: str) -> None:
    """Before the model is loaded."""
    assert cli("bench", "--settings", text).code == 2


def test_a_file_that_cannot_be_written_is_said_first(cli: Cli, tmp_path: Path) -> None:
    """Not after the measurement."""
    result = cli("bench", "--json", str(tmp_path / "nowhere" / "f.jsonl"))
    assert result.code == 1
    assert "cannot be written" in result.err
    assert not cli.engine.sessions
