"""How tokens, probabilities and rounds are put into plain words. Qt-free; its results are never rich text."""

from __future__ import annotations

import math
import unicodedata
from functools import lru_cache

from engine.trace import DraftedBy, Node, Round, Source, Token

_SYMBOLS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\x7f": "␡", "\u00a0": "⍽"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


@lru_cache(maxsize=4096)
def visible(text: str) -> str:
    """Token text with every space, line break, control and direction mark shown as a symbol."""
    if not text:
        return "‹empty›"
    shown = "".join(_symbol(c) for c in text)
    return "◌" + shown if unicodedata.category(text[0]).startswith("M") else shown


def _symbol(char: str) -> str:
    if char in _SYMBOLS:
        return _SYMBOLS[char]
    if ord(char) < 32:
        return chr(0x2400 + ord(char))
    return f"‹U+{ord(char):04X}›" if unicodedata.category(char) in _HIDDEN else char


def percent(p: float) -> str:
    """A probability as a short percentage; a dash for nan."""
    if math.isnan(p):
        return "–"
    if p < 0.001:
        return "<0.1%"
    return f"{100 * p:.1f}%" if p < 0.0995 else f"{100 * p:.0f}%"


def number(value: float, digits: int = 3) -> str:
    """A number with a real minus sign; a dash for nan."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def plural(count: int, noun: str) -> str:
    """`1 token`, `3 tokens`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def drafter(shown: Round) -> DraftedBy:
    """Where the candidates came from. Traces older than the field: what strategy and shape of the tree prove.

    A head gives the root all `eagle_topk` children and grows no deeper than `eagle_depth`; a copied chain need not.
    """
    if shown.drafted_by != "unknown":
        return shown.drafted_by
    s, first = shown.settings, sum(n.depth == 1 for n in shown.nodes)
    if not first:
        return "nothing"
    if s.strategy == "lookahead":
        return "ngram"
    copied = s.strategy == "eagle" and (first < s.eagle_topk or max(n.depth for n in shown.nodes) > s.eagle_depth)
    return "copy" if copied else "unknown"


def own_token(shown: Round) -> Token | None:
    """The token the target drew after the last accepted node (bonus or plain) or instead of one that was run again
    (correction), emitted or not."""
    last = shown.nodes[shown.path()[-1]]
    for token in reversed((*shown.emitted, *shown.provisional)):
        if token.source == "correction" or (token.source in ("bonus", "plain") and token.node == last.id):
            return token
    if last.target_token < 0:
        return None
    source: Source = "bonus" if shown.verified else "plain"
    return Token(last.target_token, last.target_text, source, last.id, last.target_prob, math.nan)


def decided_by(shown: Round, own: Token) -> int:
    """Which row that was run again decided a correction: the one after those that confirmed a token."""
    return sum(t.node < 0 for t in shown.emitted[: shown.emitted.index(own)])


def own_token_fate(shown: Round, token: Token) -> str:
    """Why the round ends with this token, and whether it reached the reply."""
    why = {
        "bonus": "bonus: the target's own token, free with the pass that verified the tree",
        "correction": "correction: the target's own token instead of an earlier one",
    }.get(token.source, "plain decoding: one pass of the target, one token")
    if token in shown.provisional:
        return f"{why}; waits for the next pass to confirm it"
    return why if token in shown.emitted else f"{why}; not in the reply, which ends before it"


def node_fate(shown: Round, node: Node) -> str:
    """`Round.fate`, and whether an accepted node reached the reply."""
    fate = shown.fate(node)
    if not node.accepted or node.id == 0 or any(t.node == node.id and t.source == "draft" for t in shown.emitted):
        return fate
    waiting = any(t.node == node.id and t.source == "draft" for t in shown.provisional)
    end = "; waits for the next pass to confirm it" if waiting else "; not in the reply, which ends before it"
    return fate + end


def summary(shown: Round, count: int | None = None) -> str:
    """One line: which round (of how many), what was accepted, what came out, in what time."""
    made = f"{plural(len(shown.emitted), 'token')} in {shown.timings.total:.1f} ms"
    which = f"Round {shown.index + 1}" + (f" of {count}" if count else "")
    if not shown.drafted:
        return f"{which}: plain, {made}"
    copied = " copied" if drafter(shown) == "copy" else ""
    return f"{which}: {len(shown.accepted)} of {shown.verified}{copied} accepted, {made}"


def describe(shown: Round) -> str:
    """The drawing for those who cannot see it: `round 12: 5 of 24 drafted accepted: …`."""
    path = ", ".join(visible(shown.nodes[i].text) for i in shown.accepted) or "none"
    own = own_token(shown)
    then = f"; then the target's own token {visible(own.text)}" if own else ""
    if not shown.drafted:
        return f"round {shown.index + 1}: plain decoding{then}"
    if shown.corrected and own:
        return (
            f"round {shown.index + 1}: an earlier token was corrected to {visible(own.text)}, so the draft was dropped"
        )
    pruned = shown.drafted - shown.verified
    drafted = "copied" if drafter(shown) == "copy" else "drafted"
    counts = f"{len(shown.accepted)} of {shown.verified} {drafted} accepted"
    return f"round {shown.index + 1}: {counts}: {path}{then}; {pruned} pruned before verification"


def tree_text(shown: Round, pruned: bool = True) -> str:
    """The tree as indented lines, a line per node, siblings in rank order (after MNN's `TokenTree::toString`)."""
    lines = [summary(shown)]

    def walk(node: Node) -> None:
        if not node.kept and not pruned:
            return
        mark = "✓" if node.accepted else "✕" if node.kept else "⋯"
        p = "" if node.id == 0 else f"  p {percent(math.exp(node.logprob))}, path {percent(math.exp(node.cum_logprob))}"
        lines.append(f"{'  ' * node.depth}{mark} {visible(node.text)} [{node.token}]{p}")
        for child in shown.children(node.id):
            walk(child)
        if own and node.id == own.node:
            lines.append(f"{'  ' * (node.depth + 1)}★ {visible(own.text)} [{own.id}]  target p {percent(own.prob)}")

    own = own_token(shown)
    if own and own.node < 0:
        lines.append(f"★ {visible(own.text)} [{own.id}]  correction, target p {percent(own.prob)}")
    walk(shown.nodes[0])
    return "\n".join(lines) + "\n"
