from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.main import main
from app.cli.repl import history
from engine import CHAT_SAMPLING, ContextFull, EngineConfig, Event, Round
from engine.trace_json import load_trace
from tests.app.cli.conftest import Cli
from tests.fake_engine import FakeSession
from tests.fake_turn import fake_turn


def test_a_prompt_prints_the_reply_and_counts_apart(cli: Cli) -> None:
    """The reply can be piped: counts go to standard error."""
    turn = fake_turn(1)
    result = cli("chat", "--prompt", "Hi")
    assert result.code == 0
    assert result.out == turn.text + "\n"
    assert f"τ {turn.stats().tau:.2f}" in result.err
    assert f"{len(turn.tokens)} tokens" in result.err
    assert "\x1b" not in result.out + result.err


def test_settings_reach_the_engine(cli: Cli) -> None:
    """Given flags replace the model's own settings, the others stay."""
    cli("chat", "--prompt", "Hi", "--topk", "2", "--max-new-tokens", "7", "--strategy", "plain")
    expected = EngineConfig("", eagle_topk=2, eagle_depth=5, draft_predict_length=10, max_new_tokens=7)
    assert cli.engine.sessions[0].config == expected


def test_sampling_reaches_the_engine(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each flag under its own name."""
    seen = []
    original = FakeSession.generate

    def spy(self: FakeSession, messages: object, sampling: object, **more: object) -> Iterator[Event]:
        seen.append(sampling)
        return original(self, messages, sampling, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeSession, "generate", spy)
    flags = ["--temperature", "0.7", "--top-k", "9", "--top-p", "0.8", "--min-p", "0.1", "--seed", "5"]
    cli("chat", "--prompt", "Hi", *flags, "--repetition-penalty", "1.2", "--stop", "A", "--stop", "B")
    s = seen[0]
    assert (s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty, s.seed) == (0.7, 9, 0.8, 0.1, 1.2, 5)
    assert s.stop == ("A", "B")


def test_a_reply_has_a_seed_that_can_be_given_again(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another try gives another text; the seed of a good one is printed, and --seed repeats it."""
    cli.engine.turns = [fake_turn(4711, temperature=0.4)]
    seen = []
    original = FakeSession.generate

    def spy(self: FakeSession, messages: object, sampling: object, **more: object) -> Iterator[Event]:
        seen.append(sampling)
        return original(self, messages, sampling, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeSession, "generate", spy)
    result = cli("chat", typed=["one"] * 6)
    assert len({s.seed for s in seen}) > 3
    assert {s.with_(seed=0) for s in seen} == {CHAT_SAMPLING}
    assert result.err.count("seed 4711") == 6
    seen.clear()
    cli("chat", "--prompt", "Hi", "--temperature", "0")
    assert seen == [CHAT_SAMPLING.with_(temperature=0)]


def test_an_unknown_strategy_lists_the_known(cli: Cli) -> None:
    """Before minutes of downloading."""
    cli.engine.installed = False
    result = cli("chat", "--prompt", "Hi", "--strategy", "medusa")
    assert result.code == 1
    assert "plain, eagle" in result.err
    assert not cli.engine.installed


def test_system_prompt_and_conversation(cli: Cli) -> None:
    """Every turn sees what was said before; /reset forgets all but the system prompt."""
    result = cli("chat", "--system", "Be brief.", typed=["one", "two", "/reset", "three", "/exit", "four"])
    asked = [[m["content"] for m in messages] for messages in cli.engine.sessions[0].asked]
    reply = fake_turn(1).text
    assert asked == [["Be brief.", "one"], ["Be brief.", "one", reply, "two"], ["Be brief.", "three"]]
    assert result.code == 0


def test_help_and_unknown_commands(cli: Cli) -> None:
    """A mistyped command is not sent to the model."""
    result = cli("chat", typed=["/help", "/rest"])
    assert result.err.count("/reset ") == 2
    assert "Unknown command /rest" in result.err
    assert not cli.engine.sessions[0].asked


def test_a_prompt_from_standard_input(cli: Cli) -> None:
    """For texts too long or too awkward for the command line."""
    cli("chat", "--prompt", "-", typed=["first line", "second line"])
    assert cli.engine.sessions[0].asked[0][0]["content"] == "first line\nsecond line"


def test_a_message_too_long_keeps_the_conversation(cli: Cli) -> None:
    """One sentence, then the next message, without the one that failed."""
    cli.engine.generate_error = ContextFull("The message is too long.")
    result = cli("chat", typed=["endless", "short"])
    assert result.code == 0
    assert "The message is too long.\n" in result.err
    assert [m["content"] for m in cli.engine.sessions[0].asked[1]] == ["short"]


def interrupting(presses: int) -> object:
    """`FakeSession.generate` during which Ctrl+C is pressed after the second round."""
    original = FakeSession.generate

    def generate(self: FakeSession, *args: object, **more: object) -> Iterator[Event]:
        for event in original(self, *args, **more):  # type: ignore[arg-type]
            yield event
            if isinstance(event, Round) and event.index == 1:
                for _ in range(presses):
                    signal.raise_signal(signal.SIGINT)

    return generate


def test_ctrl_c_stops_the_reply_and_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written stays; a script sees 130."""
    monkeypatch.setattr(FakeSession, "generate", interrupting(1))
    result = cli("chat", "--prompt", "Hi")
    turn = fake_turn(1)
    shown = turn.prefill.text + "".join(r.text for r in turn.rounds[:2])  # type: ignore[union-attr]
    assert result.code == 130
    assert result.out == shown + "\n"
    assert "stopped by you" in result.err


def test_ctrl_c_keeps_the_conversation(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stopped reply is part of it, and the next message is answered."""
    monkeypatch.setattr(FakeSession, "generate", interrupting(1))
    result = cli("chat", typed=["one", "two"])
    assert result.code == 0
    assert len(cli.engine.sessions[0].asked) == 2
    assert len(cli.engine.sessions[0].asked[1]) == 3


def test_ctrl_c_twice_leaves(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """For whoever does not want to wait."""
    monkeypatch.setattr(FakeSession, "generate", interrupting(2))
    result = cli("chat", typed=["one", "two"])
    assert result.code == 130
    assert len(cli.engine.sessions[0].asked) == 1


def test_the_trace_is_the_turn(cli: Cli, tmp_path: Path) -> None:
    """What --trace wrote reads back as what was shown, one file per turn."""
    cli("chat", "--trace", str(tmp_path / "t.json"), typed=["one", "two"])
    assert load_trace(tmp_path / "t.json") == fake_turn(1)
    assert load_trace(tmp_path / "t-2.json") == fake_turn(1)


def test_a_trace_without_its_folder_is_said_first(cli: Cli, tmp_path: Path) -> None:
    """Not after the reply that it should have kept."""
    result = cli("chat", "--prompt", "Hi", "--trace", str(tmp_path / "nowhere" / "t.json"))
    assert result.code == 1
    assert "nowhere" in result.err
    assert not cli.engine.sessions


def test_trees_replace_the_stream(cli: Cli) -> None:
    """Every round once, then the reply as a whole."""
    turn = fake_turn(1)
    result = cli("chat", "--prompt", "Hi", "--show-tree")
    assert result.out.count("\nround ") == len(turn.rounds) - 1
    assert result.out.startswith("round 0 at ")
    assert result.out.endswith(f"\n\n{turn.text}\n")
    assert " · " not in result.out
    assert "─ · " in cli("chat", "--prompt", "Hi", "--show-tree", "--show-pruned").out


def test_colours_only_where_asked(cli: Cli) -> None:
    """Piped output stays text unless --color always; then the legend explains it."""
    result = cli("chat", "--prompt", "Hi", "--color", "always")
    assert "\x1b[" in result.out
    assert "accepted draft" in result.err
    assert cli("chat", "--color", "always", typed=["one", "two"]).err.count("accepted draft") == 1


def test_why_it_is_plain_is_said(cli: Cli) -> None:
    """A model without a head must not look like a slow one."""
    turn = fake_turn(1, strategy="plain")
    assert turn.start is not None
    turn.start = turn.start.__class__("m", "plain", "m has no EAGLE-3 draft head.", 10, 0, 2048)
    cli.engine.turns = [turn]
    result = cli("chat", "--prompt", "Hi")
    assert "m has no EAGLE-3 draft head." in result.err
    assert "τ" not in result.err


def test_a_narrow_encoding_does_not_end_the_program(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows consoles and LANG=C: what cannot be shown is replaced."""
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["chat", "--prompt", "Hi", "--show-tree"], load_engine=lambda: cli.engine) == 0
    assert b"`- * " in raw.getvalue()
    raw.getvalue().decode("ascii")


def test_history_survives(tmp_path: Path) -> None:
    """Arrow up finds yesterday's question; the file is the user's own."""
    readline = pytest.importorskip("readline")
    path = tmp_path / "data" / "chat_history"
    readline.clear_history()
    with history(path):
        readline.add_history("what is a heron?")
    readline.clear_history()
    with history(path):
        assert readline.get_history_item(1) == "what is a heron?"
    readline.clear_history()
    assert path.stat().st_mode & 0o077 == 0
