"""Which nodes of a draft are copied text, where a copied chain joined the head's tree. Qt-free.

The record names the drafters of a round, not of a node. But a copied token's probability is the estimate n / (n + 1)
behind a match of n tokens, which no head gives to the last digit.
"""

from __future__ import annotations

import math

from app.tree.words import drafter
from engine.trace import Node, Round

_ESTIMATES = frozenset(math.log(n / (n + 1)) for n in range(1, 17))


def is_estimate(shown: Round, node: Node) -> bool:
    """Whether the node's draft probability was reckoned from a match in earlier text, not given by a head."""
    match drafter(shown):
        case "copy" | "ngram":
            return node.id > 0
        case "merged":
            return node.logprob in _ESTIMATES
    return False


def copied_tokens(shown: Round) -> tuple[bool, ...]:
    """Which of the emitted tokens are accepted copies of earlier text, in their order."""
    if drafter(shown) in ("head", "nothing", "unknown"):
        return (False,) * len(shown.emitted)
    return tuple(t.source == "draft" and t.node >= 0 and is_estimate(shown, shown.nodes[t.node]) for t in shown.emitted)


def node_origin(shown: Round, node: Node) -> str:
    """Who drafted the node, in words; of a node that both had, the one whose probability counted."""
    match drafter(shown):
        case "merged":
            return "copied text" if is_estimate(shown, node) else "the draft head"
        case "head":
            return "the draft head"
        case "copy":
            return "copied text"
        case "ngram":
            return "looked-up text"
    return ""


def joined(shown: Round) -> frozenset[int]:
    """Ids of the nodes of a merged tree that the head did not have; none in other rounds.

    The head gives a node all `eagle_topk` children or none: another one, or a single one, came with the copied chain.
    """
    if drafter(shown) != "merged":
        return frozenset()
    topk, depth = shown.settings.eagle_topk, shown.settings.eagle_depth
    children: dict[int, int] = {}
    for n in shown.nodes[1:]:
        children[n.parent] = children.get(n.parent, 0) + 1
    late: set[int] = set()
    for n in shown.nodes[1:]:
        beside = children[n.parent] != topk and is_estimate(shown, n)
        if n.parent in late or n.depth > depth or beside:
            late.add(n.id)
    return frozenset(late)
