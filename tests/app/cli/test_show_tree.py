from __future__ import annotations

import math
from dataclasses import replace

import pytest

from app.cli.show_tree import round_text
from engine.trace import KvChange, Node, Round, Settings, Timings, Token
from tests.fake_turn import fake_turn

SETTINGS = Settings("eagle", 2, 2, 3, 0.0, 40, 0.95, 0.0, 1.0, 0)


def node(number: int, parent: int, depth: int, rank: int, text: str, *, kept: bool, accepted: bool) -> Node:
    """A candidate with probability one half."""
    fate = {"kept": kept, "row": number if kept else -1, "accepted": accepted}
    return Node(
        number, parent, depth, rank, number, text, math.log(0.5), 0.0, active=True, target_token=9, target_text=" at",
        target_prob=0.75, **fate,
    )  # fmt: skip


def small_round(*, cut: bool = False) -> Round:
    """Root, an accepted second-best child with a rejected child of its own, and a pruned one."""
    nodes = (
        node(0, -1, 0, 0, " The", kept=True, accepted=True),
        node(1, 0, 1, 0, " bird", kept=True, accepted=False),
        node(2, 0, 1, 1, " he\nron", kept=True, accepted=True),
        node(3, 2, 2, 0, " \x1b[2J", kept=True, accepted=False),
        node(4, 2, 2, 1, " sat", kept=False, accepted=False),
    )
    emitted = (Token(2, " he\nron", "draft", 2, 0.5, 1.0), Token(9, " at", "bonus", 2, 0.75, 2.0))
    return Round(
        3, 57, SETTINGS, nodes, (2,), emitted[: 1 if cut else 2], " heron at", KvChange(57, 4, (0, 2)),
        Timings(0.0, 14.2, 2.1, 11.4, 0.1),
    )  # fmt: skip


WHOLE = """\
round 3 at 57: 4 drafted, 3 verified, 1 accepted, 2 emitted in 14.2 ms (draft 2.1, verify 11.4, commit 0.1, host 0.6)
  " The"
  ├─ ✕ " bird"  p 0.50
  └─ ✓ " he\\nron"  p 0.50  (rank 1)
     ├─ ✕ " \\x1b[2J"  p 0.50
     ├─ · " sat"  p 0.50
     └─ ★ " at"  p 0.75"""


def test_every_fate_has_its_mark() -> None:
    """The tree as a person reads it, to the letter; nothing of the model reaches the terminal as a command."""
    assert round_text(small_round(), show_pruned=True) == WHOLE


def test_copied_drafts_are_called_copied() -> None:
    """No head drafted them."""
    assert "4 copied, 3 verified" in round_text(replace(small_round(), drafted_by="copy"))
    assert "4 drafted or copied, 3 verified" in round_text(replace(small_round(), drafted_by="merged"))
    assert "4 looked up, 3 verified" in round_text(replace(small_round(), drafted_by="ngram"))


def test_pruned_nodes_are_counted_not_shown() -> None:
    """By default the tree is what the model verified."""
    lines = round_text(small_round()).splitlines()
    assert "sat" not in "".join(lines)
    assert lines[-1] == "  (1 pruned, not shown)"


def test_a_round_cut_by_the_end_says_so() -> None:
    """Without it, an accepted node that is not in the reply looks like a fault."""
    text = round_text(small_round(cut=True))
    assert "★" not in text
    assert "(the turn ends here: 1 decided token left out)" in text


def test_tokens_that_wait_and_tokens_that_are_confirmed() -> None:
    """A round may decide tokens that the next pass confirms, and confirm some of the round before: both are said."""
    draft, bonus = small_round().emitted
    earlier = Token(7, " x", "draft", -1, math.nan, math.nan)
    waiting = replace(small_round(), replayed=(earlier,), emitted=(earlier, draft), provisional=(bonus,))
    lines = round_text(waiting).splitlines()
    assert lines[1] == '  (run again: " x")'
    assert '  (wait for the next pass: " at")' in lines
    assert '★ " at"  p 0.75' in "\n".join(lines)
    assert "the turn ends here" not in "\n".join(lines)


def test_a_correction_says_that_the_tree_does_not_count() -> None:
    """The pass decided a waiting token otherwise: what was drafted after it is void, and no end of the turn."""
    correction = Token(7, " y", "correction", -1, 0.6, 0.1)
    lines = round_text(replace(small_round(), accepted=(), emitted=(correction,))).splitlines()
    assert lines[-1] == '  (run again, the target decided otherwise, so the tree does not count: " y")'
    assert "★" not in "".join(lines)


def test_a_plain_round_is_one_token() -> None:
    """Plain decoding has a root and what the target chose."""
    lines = round_text(fake_turn(2, strategy="plain").rounds[0]).splitlines()
    assert "drafted" not in lines[0]
    assert len(lines) == 3
    assert "★" in lines[2]


@pytest.mark.parametrize("seed", range(5))
def test_every_verified_node_appears_once(seed: int) -> None:
    """Counts in the text are the round's counts."""
    for round_ in fake_turn(seed).rounds:
        text = round_text(round_, show_pruned=True)
        marks = {mark: text.count(f"─ {mark} ") for mark in "✓✕·★"}
        assert marks["✓"] + marks["✕"] == round_.verified
        assert marks["·"] == round_.drafted - round_.verified
        assert marks["✓"] == len(round_.accepted)
        assert marks["★"] <= 1
