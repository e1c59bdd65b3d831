"""Every field of a card in words: what the hover card and the table say about it. Qt-free."""

from __future__ import annotations

import math

from app.tree.copied import is_estimate, node_origin
from app.tree.drawing import OWN, Key
from app.tree.words import decided_by, node_fate, number, own_token, own_token_fate, percent, visible
from engine.trace import Node, Round, Token


def facts(shown: Round, key: Key) -> tuple[str, str, list[tuple[str, str]]]:
    """Title, fate and (name, value) pairs of a card of a recorded round."""
    if isinstance(key, int):
        node = shown.nodes[key]
        return _title(node.text, node.token), node_fate(shown, node), node_facts(shown, node)
    if key == OWN and (own := own_token(shown)):
        return _title(own.text, own.id), own_token_fate(shown, own), _own_facts(shown, own)
    row = int(str(key).rsplit(" ", 1)[-1])
    token = shown.replayed[row]
    pairs = [("row in the pass", str(row)), ("came as", token.source), ("target p", percent(token.prob))]
    return _title(token.text, token.id), "decided earlier and run again at the head of this pass", pairs


def node_facts(shown: Round, node: Node) -> list[tuple[str, str]]:
    """All fields of a node but its text, token and fate."""
    pairs = [("node", f"{node.id}, child of {node.parent}" if node.parent >= 0 else f"{node.id}, the root")]
    pairs.append(("depth", str(node.depth)))
    if node.id:
        siblings = sum(n.parent == node.parent for n in shown.nodes)
        guess = ", an estimate" if is_estimate(shown, node) else ""
        pairs += [
            ("drafted by", node_origin(shown, node) or "not recorded"),
            ("rank", f"{node.rank + 1} of {siblings} siblings"),
            ("draft p", f"{percent(math.exp(node.logprob))}  (log {number(node.logprob)}{guess})"),
            ("p of the path", f"{percent(math.exp(node.cum_logprob))}  (log {number(node.cum_logprob)})"),
        ]
    pairs += [
        ("expanded", "yes" if node.active else "no"),
        ("verified", f"yes, row {len(shown.replayed) + node.row}" if node.row >= 0 else "no, pruned before"),
        ("accepted", "yes" if node.accepted else "no"),
        ("target wanted next", wanted(node)),
    ]
    return pairs


def wanted(node: Node) -> str:
    """What the target drew after a node, and how likely it was."""
    if node.target_token < 0:
        return "not asked"
    p = "" if math.isnan(node.target_prob) else f"  p {percent(node.target_prob)}"
    return f"{visible(node.target_text)} [{node.target_token}]{p}"


def _own_facts(shown: Round, own: Token) -> list[tuple[str, str]]:
    emitted = "yes" if own in shown.emitted else "not yet" if own in shown.provisional else "no"
    return [
        ("came as", own.source),
        ("decided after node", str(own.node)) if own.node >= 0 else ("decided by row", str(decided_by(shown, own))),
        ("target p", percent(own.prob)),
        ("lead over the second", f"{number(own.margin, 2)} logits"),
        ("in the reply", emitted),
    ]


def _title(text: str, token: int) -> str:
    return f"{visible(text)}   token {token}"
