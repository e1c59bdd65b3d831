"""A round's draft tree as indented text: ✓ accepted, ✕ rejected, ★ the target's own token, · pruned. Records only.

round 3 at 57: 12 drafted, 6 verified, 2 accepted, 3 emitted in 14.2 ms (draft 2.1, verify 11.4, commit 0.1, host 0.6)
  " The"
  ├─ ✓ " heron"  p 0.81
  │  └─ ✓ " waited"  p 0.77
  │     ├─ ✕ " for"  p 0.42
  │     └─ ★ " at"  p 0.93
  └─ ✕ " bird"  p 0.07
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.cli.terminal import quoted
from engine import Node, Round, Token


def round_text(round_: Round, *, show_pruned: bool = False) -> str:
    """The round as lines, a headline first, ready to print: text of the model is quoted and harmless."""
    lines = [headline(round_)]
    _add_tokens(lines, "run again", round_.replayed)
    lines.append(f"  {quoted(round_.nodes[0].text)}")
    _add_children(lines, round_, round_.nodes[0], "  ", show_pruned)
    _add_tokens(lines, "wait for the next pass", round_.provisional)
    hidden = 0 if show_pruned else round_.drafted - round_.verified
    if hidden:
        lines.append(f"  ({hidden} pruned, not shown)")
    cut = len(round_.path()) - len(_decided(round_))
    corrected = [t for t in round_.emitted if t.source == "correction" and t.node < 0]
    if corrected:
        _add_tokens(lines, "run again, the target decided otherwise, so the tree does not count", corrected)
    elif cut > 0:
        lines.append(f"  (the turn ends here: {cut} decided token{'s' * (cut > 1)} left out)")
    return "\n".join(lines)


def headline(round_: Round) -> str:
    """Counts and times of the round on one line."""
    t = round_.timings
    drafted = {"copy": "copied", "merged": "drafted or copied", "ngram": "looked up"}.get(round_.drafted_by, "drafted")
    counts = f"{round_.drafted} {drafted}, {round_.verified} verified, {round_.accepted_emitted} accepted, "
    phases = f"draft {t.draft:.1f}, verify {t.verify:.1f}, commit {t.commit:.1f}, host {t.host:.1f}"
    if not round_.drafted:
        counts, phases = "", f"verify {t.verify:.1f}, host {t.host:.1f}"
    counts = f"round {round_.index} at {round_.position}: {counts}{len(round_.emitted)} emitted"
    return f"{counts} in {t.total:.1f} ms ({phases})"


def _add_children(lines: list[str], round_: Round, node: Node, indent: str, show_pruned: bool) -> None:
    children: list[Node | Token] = [n for n in round_.children(node.id) if n.kept or show_pruned]
    own = _own_token(round_)
    if own is not None and own.node == node.id:
        children.append(own)
    for i, child in enumerate(children):
        last = i == len(children) - 1
        lines.append(f"{indent}{'└─' if last else '├─'} {_label(child)}")
        if isinstance(child, Node):
            _add_children(lines, round_, child, indent + ("   " if last else "│  "), show_pruned)


def _decided(round_: Round) -> list[Token]:
    """Tokens that this round's tree decided: not those that it only confirmed for an earlier round."""
    return [t for t in round_.emitted if t.node >= 0] + list(round_.provisional)


def _own_token(round_: Round) -> Token | None:
    """The token that the target decided by itself at the end of the path; None where the turn ended before it."""
    return next((t for t in reversed(_decided(round_)) if t.source in ("bonus", "correction", "plain")), None)


def _add_tokens(lines: list[str], what: str, tokens: Sequence[Token]) -> None:
    if tokens:
        lines.append(f"  ({what}: {' '.join(quoted(t.text) for t in tokens)})")


def _label(item: Node | Token) -> str:
    if isinstance(item, Token):
        return f"★ {quoted(item.text)}" + ("" if math.isnan(item.prob) else f"  p {item.prob:.2f}")
    mark = "✓" if item.accepted else "✕" if item.kept else "·"
    label = f"{mark} {quoted(item.text)}  p {math.exp(item.logprob):.2f}"
    return f"{label}  (rank {item.rank})" if item.accepted and item.rank else label
