"""What a round looks like at a step, as a list of cards: nodes, the target's own token, replayed rows. Qt-free.

Knows no sizes and no colours: the scene places and paints the cards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.tree.copied import is_estimate
from app.tree.phases import Kind, State, Step, has_own_token, phase_states, states
from app.tree.words import decided_by, drafter, own_token, percent, visible
from engine.trace import Node, Phase, Round

Key = int | str  # a node's id; OWN; "again 0", "again 1" … in row order
OWN, AGAIN = "own", "again "
CROWDED = 32  # more undecided candidates than this are drawn small


@dataclass(frozen=True, slots=True)
class Card:
    """One card and the edge that leads to it."""

    key: Key
    parent: Key | None
    kind: Kind
    text: str  # symbols instead of spaces and controls
    number: str  # probability of the whole path; the target's for its own token; what the target wanted, at verify
    p: float  # probability of the edge; nan where there is none
    small: bool = False  # a candidate that will be pruned, a replayed row, one of very many: the same at every step


@dataclass(frozen=True, slots=True)
class Drawing:
    """Cards, parents before children, siblings in rank order. Hidden ones keep their place free."""

    cards: tuple[Card, ...]
    first: Key | None  # the key at the left end; None when there is nothing to draw
    spine: frozenset[Key] = frozenset()  # root, accepted path and the target's own token: drawn as a straight line

    def children(self) -> dict[Key, list[Key]]:
        """Keys below each key, in the order they appear."""
        below: dict[Key, list[Key]] = {}
        for card in self.cards:
            if card.parent is not None:
                below.setdefault(card.parent, []).append(card.key)
        return below


NO_MARKS: Mapping[int, str] = {}
EMPTY = Drawing((), None)


def key_of(shown: Round | None, node: int) -> Key | None:
    """The card of a node as the selection numbers them: beyond the ids its own token, then what was run again."""
    if shown is None or node < 0:
        return None
    beyond = node - len(shown.nodes)
    return node if beyond < 0 else OWN if beyond == 0 else f"{AGAIN}{beyond - 1}"


def number_of(shown: Round | None, key: Key | None) -> int:
    """Inverse of `key_of`; -1 for none."""
    if shown is None or key is None:
        return -1
    if isinstance(key, int):
        return key
    return len(shown.nodes) + (0 if key == OWN else 1 + int(key.removeprefix(AGAIN)))


def round_drawing(shown: Round, step: Step, ghosts: bool) -> Drawing:
    """The cards of a recorded round at one of its steps. Which cards there are depends on `ghosts` alone."""
    again = _replayed(shown)
    last, answers = again[-1].key if again else None, step.name == "verify"
    cards = [*again, *_nodes(shown.nodes, states(shown, step), ghosts, last, answers, _copies(shown))]
    own = own_token(shown)
    if own:
        kind: Kind = "bonus" if has_own_token(step) else "hidden"
        parent = own.node if own.node >= 0 else f"{AGAIN}{decided_by(shown, own)}"
        cards.append(Card(OWN, parent, kind, visible(own.text), percent(own.prob), math.nan))
    path = () if shown.corrected else shown.path()
    return Drawing(tuple(cards), cards[0].key, frozenset((*path, OWN)))


def phase_drawing(phase: Phase, ghosts: bool) -> Drawing:
    """The cards of the partial tree at which a stepped engine waits."""
    cards = _nodes(phase.nodes, phase_states(phase), ghosts, None)
    spine: frozenset[Key] = frozenset(n.id for n in phase.nodes if n.accepted)
    return Drawing(tuple(cards), cards[0].key, spine) if cards else EMPTY


def _nodes(
    nodes: tuple[Node, ...],
    looks: dict[int, State],
    ghosts: bool,
    before: Key | None,
    answers: bool = False,
    marks: Mapping[int, str] = NO_MARKS,
) -> list[Card]:
    """Cards of the nodes; with `answers` they say what the target wanted after them instead of how likely they are.

    `marks`: what is written behind that, by node.
    """
    decided = _decided(nodes)
    shown = [n for n in nodes if n.kept or ghosts or not decided]
    crowded = len(nodes) > CROWDED
    return [
        Card(
            n.id,
            before if n.parent < 0 else n.parent,
            looks[n.id],
            visible(n.text),
            f"→ {visible(n.target_text)}"
            if answers and n.target_token >= 0
            else _path_percent(n) + marks.get(n.id, ""),
            math.exp(n.logprob) if n.id else math.nan,
            not n.kept and n.id > 0 and (decided or crowded),
        )
        for n in sorted(shown, key=lambda n: (n.depth, n.parent, n.rank))
    ]


def _copies(shown: Round) -> Mapping[int, str]:
    """In a tree that copied text has joined, which nodes it brought; elsewhere the headline says it of all."""
    if drafter(shown) != "merged":
        return NO_MARKS
    return {n.id: " copied" for n in shown.nodes[1:] if n.kept and is_estimate(shown, n)}


def _path_percent(node: Node) -> str:
    return percent(math.exp(node.cum_logprob)) if node.id else ""


def _decided(nodes: tuple[Node, ...]) -> bool:
    """Whether it is known which nodes are kept: before, all are candidates."""
    return any(n.kept for n in nodes[1:]) or any(n.target_token >= 0 for n in nodes)


def _replayed(shown: Round) -> list[Card]:
    keys = [f"{AGAIN}{i}" for i in range(len(shown.replayed))]
    return [
        Card(key, keys[i - 1] if i else None, "replayed", visible(token.text), "", math.nan, True)
        for i, (key, token) in enumerate(zip(keys, shown.replayed, strict=True))
    ]
