"""What is being looked at: the shown turn, the shown round, what is hovered and what is pinned.

The one link between chat, tree, timeline and plots. Lives in the window's thread. Knows records, but no widget and
no engine: looking back never touches the engine.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, Signal

from engine.trace import Round, Token, Turn

NONE = (-1, -1)


def nodes_of(shown: Round) -> tuple[int, ...]:
    """The node to hover or pin for each emitted token of a round: the card that holds it.

    Beside the nodes by their ids: `len(nodes)` is the target's own token (bonus, correction, plain), and
    `len(nodes) + 1 + i` the i-th token that was run again. What that confirms stands on the next one or on the root.
    """
    own = len(shown.nodes)
    confirmed = iter((*range(own + 2, own + 1 + len(shown.replayed)), 0))
    return tuple(_node_of(token, own, confirmed) for token in shown.emitted)


def _node_of(token: Token, own: int, confirmed: Iterator[int]) -> int:
    if token.source == "correction":
        return own
    if token.node < 0:
        return next(confirmed, own)
    return token.node if token.source == "draft" else own


class Selection(QObject):
    """The shown turn and round, and a hovered and a pinned (round, node); -1 means none.

    A node is a node id of the round, or one beyond them for what is drawn beside its nodes (`nodes_of`).

    State is complete before any signal leaves, and a change made inside a slot is announced after the running
    announcement has reached everybody. So all listeners hear the changes in the same order, and the last value any of
    them hears is the current one.

    Attributes:
        turn: the shown turn, or None.
        round_index: index of the shown round in `turn.rounds`; -1 while there is none.
        live: whether the newest round is followed as records arrive.
        hovered: (round, node) under the mouse, node -1 for the round as a whole.
        pinned: (round, node) that was clicked.
    """

    turn_changed = Signal(object)
    rounds_changed = Signal()
    round_changed = Signal(int)
    hover_changed = Signal(int, int)
    pin_changed = Signal(int, int)
    live_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.turn: Turn | None = None
        self.round_index = -1
        self.live = True
        self.hovered = NONE
        self.pinned = NONE
        self._seen = 0  # rounds of `turn` already announced
        self._pending: list[str] = []
        self._announcing = False

    @property
    def count(self) -> int:
        """Rounds of the shown turn."""
        return len(self.turn.rounds) if self.turn else 0

    def current(self) -> Round | None:
        """The shown round, or None."""
        return self.turn.rounds[self.round_index] if self.turn and 0 <= self.round_index < self.count else None

    def show_turn(self, turn: Turn | None, live: bool = True) -> None:
        """Show a turn: its newest round and what follows when `live`, its first round otherwise.

        Showing the turn that is already shown only picks up what was appended.
        """
        if turn is self.turn:
            self.refresh()
            return
        self.turn = turn
        self._seen = self.count
        self.round_index = self.count - 1 if live else min(0, self.count - 1)
        changed = ["turn", "round"]
        changed += self._set("live", live)
        changed += self._set("hovered", NONE)
        changed += self._set("pinned", NONE)
        self._announce(changed)

    def refresh(self) -> None:
        """Records were appended to the shown turn: announce them, and move to the newest round when live."""
        if self.count == self._seen:
            return
        self._seen = self.count
        target = self.count - 1 if self.live or self.round_index < 0 else self.round_index
        self._announce(["rounds", *self._set("round_index", min(target, self.count - 1))])

    def go(self, index: int) -> None:
        """Show a round (clamped to those there are) and stop following."""
        if self.count:
            index = max(0, min(index, self.count - 1))
            self._announce(self._set("round_index", index) + self._set("live", False))

    def step(self, delta: int) -> None:
        """Show a neighbouring round; at either end nothing happens."""
        if 0 <= self.round_index + delta < self.count:
            self.go(self.round_index + delta)

    def follow(self) -> None:
        """Show the newest round and follow as more arrive."""
        self._announce(self._set("round_index", self.count - 1) + self._set("live", True))

    def hover(self, index: int, node: int = -1) -> None:
        """The mouse is over a round, or over one of its nodes; (-1) over nothing."""
        self._announce(self._set("hovered", self._checked(index, node)))

    def pin(self, index: int, node: int = -1) -> None:
        """A round, or one of its nodes, was clicked: mark it everywhere and show its round; (-1) unpins."""
        changed = self._set("pinned", self._checked(index, node))
        if self.pinned[0] >= 0:
            changed += self._set("round_index", self.pinned[0]) + self._set("live", False)
        self._announce(changed)

    def toggle_pin(self, index: int, node: int = -1) -> None:
        """Pin, or unpin what is pinned already."""
        self.pin(*(NONE if self.pinned == (index, node) else (index, node)))

    def _checked(self, index: int, node: int) -> tuple[int, int]:
        if self.turn is None or not 0 <= index < self.count:
            return NONE
        shown = self.turn.rounds[index]
        return index, node if 0 <= node <= len(shown.nodes) + len(shown.replayed) else -1

    def _set(self, name: str, value: object) -> list[str]:
        if getattr(self, name) == value:
            return []
        setattr(self, name, value)
        return [{"round_index": "round", "hovered": "hover", "pinned": "pin"}.get(name, name)]

    def _announce(self, changed: list[str]) -> None:
        self._pending += [name for name in changed if name not in self._pending]
        if self._announcing:
            return
        self._announcing = True
        try:
            while self._pending:
                self._emit(self._pending.pop(0))
        finally:
            self._announcing = False
            self._pending.clear()

    def _emit(self, name: str) -> None:
        match name:
            case "turn":
                self.turn_changed.emit(self.turn)
            case "rounds":
                self.rounds_changed.emit()
            case "round":
                self.round_changed.emit(self.round_index)
            case "live":
                self.live_changed.emit(self.live)
            case "hover":
                self.hover_changed.emit(*self.hovered)
            case "pin":
                self.pin_changed.emit(*self.pinned)
