"""The tree of one round in its window: hover, click, keyboard. Draws what it is told, tells what is touched.

Knows rounds, steps and waiting phases; knows no selection: the panel links the two.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.theme import GAP, theme
from app.tree.canvas import ZOOM_STEP, Canvas
from app.tree.drawing import EMPTY, Drawing, Key, key_of, number_of, phase_drawing, round_drawing
from app.tree.facts import facts
from app.tree.hover_card import HoverCard
from app.tree.keyboard_mark import KeyboardMark
from app.tree.navigate import WALK, neighbour
from app.tree.phases import Step, steps
from app.tree.scene import TreeScene
from app.tree.words import describe
from engine.trace import Phase, Round

NOTHING = "No round yet.\nSend a message, or open a recorded run."
COMING = "The first round is on its way."
NO_ROUNDS = "This reply has no rounds:\nit ended with the token that the prompt gave."


class TreeView(Canvas):
    """A tree, its mouse and its keyboard.

    Signals:
        node_hovered: node id, `len(nodes)` for the target's own token, -1 for none.
        node_clicked: the same, by mouse or Enter.

    Attributes:
        tree: the scene; `shown`, `step`: the round and the step it is shown at; `phase`: of a waiting engine.
    """

    node_hovered = Signal(int)
    node_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tree = TreeScene(self)
        self.setScene(self.tree)
        self.shown: Round | None = None
        self.step: Step | None = None
        self.phase: Phase | None = None
        self.ghosts, self.sideways = False, True
        self._keyboard = KeyboardMark(self, self.node_hovered)
        self.setMinimumSize(200, 80)
        self.setAccessibleName("Draft tree of the round")
        self.hover_card = HoverCard(self.viewport())
        self.nothing = QLabel(NOTHING, self.viewport())
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.setTextFormat(Qt.TextFormat.PlainText)
        self.nothing.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme().changed.connect(self.restyle)
        self.restyle()
        self._describe()

    # What is shown

    def show_round(self, shown: Round | None, step: Step | None = None) -> None:
        """Show a recorded round at a step, the last one if none is given; None empties the view."""
        changed = shown is not self.shown or self.phase is not None
        self.shown, self.phase = shown, None
        self.step = (step or steps(shown)[-1]) if shown else None
        if changed:
            self.set_current(None)
            self._keyboard.forget()
        self._draw(changed)

    def set_nothing(self, text: str) -> None:
        """What to say while there is no round to show."""
        self.nothing.setText(text)
        self._describe()

    def show_phase(self, phase: Phase) -> None:
        """Show the partial tree at which a stepped engine waits."""
        self.shown, self.step, self.phase = None, None, phase
        self.set_current(None)
        self._draw(True)

    def set_ghosts(self, on: bool) -> None:
        """Show the pruned candidates, or leave them out."""
        if on != self.ghosts:
            self.ghosts = on
            self._draw(True)

    def set_sideways(self, on: bool) -> None:
        """Left to right, or top-down."""
        if on != self.sideways:
            self.sideways = on
            self._draw(True)

    def restyle(self) -> None:
        """Colours or fonts changed."""
        self.tree.restyle()
        self.nothing.setFont(theme().font(1.1))
        self.nothing.setStyleSheet(f"color: {theme().color('muted').name()};")
        self.refit()

    def _draw(self, refit: bool) -> None:
        root_was = self.mapFromScene(QPointF())
        self.tree.show_drawing(self._drawing(), self.sideways)
        if self.own_zoom:
            self.pan(self.mapFromScene(QPointF()) - root_was)
        self.nothing.setVisible(not self.tree.drawing.cards)
        if refit:
            self.refit()
        else:
            self.follow()
        if refit or (self.tree.marked("current") is None and self.tree.marked("hovered") is None):
            self.hover_card.hide()
        self._describe()

    def _drawing(self) -> Drawing:
        if self.shown and self.step:
            return round_drawing(self.shown, self.step, self.ghosts)
        return phase_drawing(self.phase, self.ghosts) if self.phase else EMPTY

    def _describe(self) -> None:
        text = self.nothing.text().replace("\n", " ")
        if self.phase:
            waits = f"the engine waits at {self.phase.name}"
            text = f"round {self.phase.round + 1}: {waits}, {len(self.phase.nodes)} nodes"
        elif self.shown and self.step:
            text = describe(self.shown)
            if self.step.name != "commit":
                text += f". Shown at {self.step.name} {self.step.level or ''}".rstrip()
            current = self.tree.marked("current")
            if current is not None:
                title, fate, _ = facts(self.shown, current)
                text = f"{title}, {fate}. {text}"
        self.setAccessibleDescription(text)

    # Marks

    def mark(self, ring: str, node: int) -> None:
        """Put the `hovered` or `pinned` ring on a node (numbered as in `node_hovered`), or on none."""
        self.tree.mark(ring, self._key(node))

    def set_current(self, key: Key | None) -> None:
        """Put the keyboard's ring on a card, say what is known about it and keep it in sight."""
        self.tree.mark("current", key)
        if key is None:
            self.hover_card.hide()
        else:
            self.ensureVisible(self._place(key), 30, 30)
            self._show_card(key)
        self._describe()

    def _place(self, key: Key) -> QRectF:
        item = self.tree.nodes[key]
        return item.rect.translated(item.pos())

    def _on_screen(self, key: Key) -> QRect:
        return self.mapFromScene(self._place(key)).boundingRect()

    def _show_card(self, key: Key) -> None:
        if self.shown:
            seen = [k for k, item in self.tree.nodes.items() if item.isVisible() and k != key]
            others = [self._on_screen(k) for k in seen]
            self.hover_card.show_facts(*facts(self.shown, key), self._on_screen(key), others)

    def _key(self, node: int) -> Key | None:
        return key_of(self.shown, node)

    def _node(self, key: Key | None) -> int:
        return number_of(self.shown, key)

    # Mouse and keyboard

    def content(self) -> QRectF:
        """All cards."""
        return self.tree.content_rect

    def essence(self) -> QRectF:
        """The accepted path."""
        return self.tree.path_rect()

    def at_end(self) -> bool:
        """From the walk on: where it has led; before, the root that the tree grows from."""
        return self.step is not None and self.step.name in ("accept", "commit")

    def moved(self) -> None:
        """The card would point at the wrong place."""
        self.hover_card.hide()

    def pointed(self, at: QPointF | None) -> None:
        """Mark what is under the mouse and say everything about it."""
        key = self.tree.key_at(at) if at is not None else None
        if self.tree.marked("hovered") == key:
            return
        self.tree.mark("hovered", key)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if key is not None else Qt.CursorShape.ArrowCursor)
        about = key if key is not None else self.tree.marked("current") if self.hasFocus() else None
        if about is None:
            self.hover_card.hide()
        else:
            self._show_card(about)
        self.node_hovered.emit(self._node(key))

    def clicked(self, at: QPointF) -> None:
        """Tell which node, or none."""
        self.node_clicked.emit(self._node(self.tree.key_at(at)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The empty text stays in the middle."""
        super().resizeEvent(event)
        self.nothing.setGeometry(self.viewport().rect().adjusted(GAP, GAP, -GAP, -GAP))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """On empty ground: fit."""
        if self.tree.key_at(self.mapToScene(event.position().toPoint())) is None:
            self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk the tree, Enter pins, + - zoom, F fits; the rest goes to the panel."""
        current = self.tree.marked("current")
        match event.key():
            case key if key in WALK:
                self._walk(WALK[Qt.Key(key)][0 if self.sideways else 1])
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if current is not None:
                self.node_clicked.emit(self._node(current))
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom(ZOOM_STEP)
            case Qt.Key.Key_Minus:
                self.zoom(1 / ZOOM_STEP)
            case Qt.Key.Key_F:
                self.fit()
            case Qt.Key.Key_Escape if current is not None:
                self.set_current(None)
                self._keyboard.forget()
            case _:
                event.ignore()

    def _walk(self, towards: str) -> None:
        found = neighbour(self.tree.drawing, self.tree.centres(), self.tree.marked("current"), towards)
        if found is not None:
            self.set_current(found)
            self._keyboard.tell(self._node(found))
