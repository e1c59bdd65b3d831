"""What is said about tokens in words: the tooltip of one, the counts of all. Knows no widget."""

from __future__ import annotations

from app.chat.provenance import Provenance, Span
from app.chat.underline import STYLES
from engine.trace import Token

NO_BREAK = "\u00a0"  # a blank at which no line ends


def visible(text: str) -> str:
    """A token's text with spaces and line ends that can be seen."""
    return text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥") or "(nothing)"


def card(provenance: Provenance, span: Span) -> str:
    """What the tooltip says about a span, as plain text."""
    lines = []
    for index in span.tokens:
        token, number, _ = provenance.tokens[index]
        _, _, mark, words = STYLES[token.source]
        lines.append(f"{mark} “{visible(token.text)}” · id {token.id} · {words}")
        probability = "" if token.prob != token.prob else f" · p {token.prob:.2f}"
        lines.append(
            f"    round {number + 1}, {_where(token)}{probability} · token {index + 1} of {len(provenance.tokens)}"
        )
    if len(span.tokens) > 1:
        lines.append("These tokens make one character together.")
    return "\n".join(lines)


def _where(token: Token) -> str:
    """Which card of the round's tree holds a token."""
    if token.node < 0:
        return "the root" if token.source == "first" else "run again to be sure"
    return f"node {token.node}" if token.source == "draft" else f"after node {token.node}"


def summary(provenance: Provenance) -> str:
    """The counts in words: "34 tokens: ✓ 24 accepted draft, ★ 9 bonus, ¹ 1 first token"."""
    return " ".join(_entries(provenance))


def legend(provenance: Provenance) -> str:
    """What stands above a reply that is shown token by token: a mark, its number and their word share a line."""
    first, last = _entries(provenance), f"·{NO_BREAK}shown as plain text"
    return " ".join((*(entry.replace(" ", NO_BREAK, 2) for entry in first), last))


def _entries(provenance: Provenance) -> list[str]:
    counts = provenance.counts()
    parts = [
        f"{STYLES[source][2]} {counts[source]} {STYLES[source][3].split(':')[0].split(',')[0]}"
        for source in STYLES
        if counts[source]
    ]
    if not parts:
        return ["no tokens"]
    return [f"{sum(counts.values())} tokens:", *(f"{part}," for part in parts[:-1]), parts[-1]]
