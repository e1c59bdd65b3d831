"""The right side's tree, linked: every part shows the selected round, and tells the selection what is touched.

Loads nothing, runs nothing.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.selection import Selection
from app.throttle import Throttle
from app.tree.export import draw_png, draw_svg
from app.tree.panes import Panes
from app.tree.phases import phase_labels, phase_step
from app.tree.stepper import Stepper
from app.tree.view import COMING, NO_ROUNDS, NOTHING
from app.tree.words import summary
from engine.errors import EyrieError
from engine.trace import Phase

REDRAW_MS = 80  # at most 12 trees a second while a reply streams
BEGIN_MS = (
    600  # a reply that begins has rounds by then; a tree before is one drawing more while the engine needs the cores
)


class TreePanel(Panes):
    """Everything about the shown round.

    Signals:
        picture_drawn: a picture of the tree; calling it writes its file, in whatever thread.
        problem: one sentence: why none was drawn.
        engine_step_requested: Space while the stepped engine waits: let it go on.
        export_trace_requested, export_rounds_requested: the menu's entries that need the whole turn.
    """

    picture_drawn = Signal(object)
    problem = Signal(str)
    engine_step_requested = Signal()
    export_trace_requested = Signal()
    export_rounds_requested = Signal()

    def __init__(self, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.selection = selection
        self.stepper = Stepper(selection, self)
        self._draw_soon = Throttle(self._draw, REDRAW_MS, self)
        self._stale = True
        self._connect()
        self._turn_changed()

    # For the window

    def show_phase(self, phase: Phase | None) -> None:
        """The stepped engine waits here, with a partial tree; None: it goes on."""
        self.stepper.show_phase(phase)

    def next_step(self) -> None:
        """Space."""
        self.stepper.forward()

    def previous_step(self) -> None:
        """Shift+Space."""
        self.stepper.back()

    def draw_picture(self, path: Path, kind: str) -> None:
        """The tree as "png" or "svg", for that file: `picture_drawn`, or `problem`."""
        self._draw_soon.flush()
        shown = self.selection.current()
        draw = draw_svg if kind == "svg" else draw_png
        try:
            self.picture_drawn.emit(draw(self.view.tree, path, summary(shown) if shown else ""))
        except EyrieError as error:
            self.problem.emit(str(error))

    def _connect(self) -> None:
        s = self.selection
        s.turn_changed.connect(self._turn_changed)
        s.rounds_changed.connect(self._rounds_changed)
        s.live_changed.connect(self._redraw)
        s.hover_changed.connect(self._marks_changed)
        s.pin_changed.connect(self._marks_changed)
        self.stepper.changed.connect(self._redraw)
        self.stepper.engine_requested.connect(self.engine_step_requested)
        for widget in (self.view, self.mask_grid, self.kv_strip, self.table):
            widget.node_hovered.connect(self._node_hovered)
        self.view.node_clicked.connect(self._node_clicked)
        self.table.node_clicked.connect(self._node_clicked)
        self.timeline.round_requested.connect(s.go)
        self.timeline.round_hovered.connect(s.hover)
        self.timeline.follow_requested.connect(self._follow)
        self.phase_bar.step_requested.connect(self.stepper.go)
        self.phase_bar.back_requested.connect(self.stepper.back)
        self.phase_bar.on_requested.connect(self.stepper.forward)
        self._connect_header()

    def _connect_header(self) -> None:
        h = self.header
        h.ghosts_toggled.connect(self._ghosts)
        h.top_down_toggled.connect(self._top_down)
        self.pane_opened.connect(self._draw)
        h.fit_requested.connect(self.view.fit)
        h.picture_chosen.connect(self.draw_picture)
        h.trace_requested.connect(self.export_trace_requested)
        h.rounds_requested.connect(self.export_rounds_requested)

    # Selection to widgets

    def _turn_changed(self) -> None:
        turn = self.selection.turn
        self.timeline.set_rounds(turn.rounds if turn else ())
        self.view.set_nothing(NOTHING if turn is None else NO_ROUNDS if turn.end else COMING)
        if turn is not None and self.selection.live and not (turn.rounds or turn.end):
            self._draw_soon.hold(BEGIN_MS)
            self._draw_soon()
        else:
            self._redraw()

    def _rounds_changed(self) -> None:
        self.timeline.grown()

    def _redraw(self) -> None:
        """Soon while a reply streams, at once otherwise."""
        if self.selection.live and self.stepper.waiting is None:
            self._draw_soon()
        else:
            self._draw_soon.cancel()
            self._draw()

    def _draw(self) -> None:
        if not self.isVisible():
            self._stale = True
            return
        self._stale = False
        shown, step, waiting = self.selection.current(), self.stepper.step, self.stepper.waiting
        if waiting is not None:
            self.view.show_phase(waiting)
            depth = shown.settings.eagle_depth if shown else waiting.level
            labels, index = phase_labels(waiting, depth)
            self.phase_bar.set_steps(labels, index, phase_step(waiting).sentence, waiting=True)
        else:
            self.view.show_round(shown, step)
            labels = [s.label for s in self.stepper.steps]
            self.phase_bar.set_steps(labels, self.stepper.index, self._sentence())
        self.header.show_round(shown, self.selection.count, waiting)
        self.legend.set_replayed(bool(shown and shown.replayed))
        if self.table.isVisible():
            self.table.show_round(shown)
        if self.mask_grid.isVisible():
            self.mask_grid.show_round(shown)
        if self.kv_strip.isVisible():
            self.kv_strip.show_round(shown, step.name if step else "commit")
        self._marks_changed()

    def _sentence(self) -> str:
        """What the step means, and where the candidates are that it speaks of."""
        shown, step = self.selection.current(), self.stepper.step
        if shown is None or step is None:
            return ""
        unseen = not self.view.ghosts and step.name in ("level", "prune") and shown.verified < shown.drafted
        return step.sentence + (" Switch on “Pruned” to see those that do not stay." if unseen else "")

    def _marks_changed(self) -> None:
        s = self.selection
        index = s.round_index
        pinned = s.pinned[1] if s.pinned[0] == index else -1
        hovered = s.hovered[1] if s.hovered[0] == index else -1
        self.view.mark("pinned", pinned)
        self.view.mark("hovered", hovered)
        self.mask_grid.mark(hovered if hovered >= 0 else pinned)
        self.kv_strip.mark(hovered if hovered >= 0 else pinned)
        if self.table.isVisible() and pinned >= 0:
            self.table.mark(pinned)
        self.timeline.set_marks(index, s.hovered[0], s.pinned[0], s.live)

    # Widgets to selection

    def _node_hovered(self, node: int) -> None:
        if self.stepper.waiting is None and node >= 0:
            self.selection.hover(self.selection.round_index, node)
        else:
            self.selection.hover(-1)

    def _node_clicked(self, node: int) -> None:
        if self.stepper.waiting is not None:
            return
        if node < 0:
            self.selection.pin(-1)
        else:
            self.selection.toggle_pin(self.selection.round_index, node)

    def _follow(self) -> None:
        self.selection.pin(-1)
        self.selection.follow()

    def _ghosts(self, on: bool) -> None:
        self.view.set_ghosts(on)
        self._draw()

    def _top_down(self, on: bool) -> None:
        self.view.set_sideways(not on)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that no child has used: steps, neighbours, fit, back to live."""
        match event.key():
            case Qt.Key.Key_Space if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.previous_step()
            case Qt.Key.Key_Space:
                self.next_step()
            case Qt.Key.Key_Comma:
                self.selection.step(-1)
            case Qt.Key.Key_Period:
                self.selection.step(1)
            case Qt.Key.Key_F:
                self.view.fit()
                self.timeline.focus_current()
            case Qt.Key.Key_Escape:
                self._follow()
            case _:
                event.ignore()

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what was not drawn while hidden."""
        super().showEvent(event)
        if self._stale:
            self._draw()
