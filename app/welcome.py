"""The first page: what this is, a recorded run to look at, and the model with its progress. Only asks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.chat.pane_keys import bind_zoom
from app.flow_grid import FlowGrid
from app.progress_words import amount
from app.theme import GAP, GAP_LARGE, GAP_SMALL, RADIUS, theme
from engine import Progress

WIDTH, BUTTON_WIDTH = 620, 150
WHAT = (
    "Chat with a language model that runs on this computer, and watch how it finds its words.",
    "A small draft model proposes a tree of possible next words. The full model checks the whole tree in one pass and "
    "keeps what it would have said anyway: the same text, in fewer passes. Eyrie draws every one of these rounds.",
)
TITLES = {"high": "Many drafts accepted", "medium": "Some drafts accepted", "low": "Few drafts accepted"}


def trace_title(path: Path) -> str:
    """A recording's name for people: from its file name."""
    stem = path.name.removesuffix(".gz").removesuffix(".json").replace("_", " ").replace("-", " ")
    found = next((title for key, title in TITLES.items() if key in stem.lower().split()), "")
    return found or stem.capitalize()


class WelcomePage(QScrollArea):
    """Signals:
    trace_chosen(Path, str): show this recording; its title.
    get_model(), cancel(): start or stop fetching.
    open_folder(), open_gguf(): take a model that is on disk already.
    """

    trace_chosen = Signal(object, str)
    get_model = Signal()
    cancel = Signal()
    open_folder = Signal()
    open_gguf = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Welcome")
        self._muted: list[QLabel] = []
        self._headings: list[QLabel] = []
        page = QWidget()
        page.setObjectName("page")
        page.setMinimumHeight(1)  # its labels ask for what a narrower page needs; what this width needs counts
        outer = QHBoxLayout(page)
        column = QVBoxLayout()
        column.setSpacing(GAP_LARGE)
        outer.setContentsMargins(GAP_LARGE, GAP_LARGE, GAP_LARGE, GAP_LARGE)
        inner = QWidget()
        inner.setMaximumWidth(WIDTH)
        inner.setLayout(column)
        outer.addWidget(inner)
        self.title = QLabel("Eyrie")
        column.addStretch(1)
        column.addWidget(self.title)
        for text in WHAT:
            column.addWidget(_words(text))
        self._traces_card = self._make_traces()
        column.addWidget(self._traces_card)
        column.addWidget(self._make_model())
        column.addStretch(2)
        self.setWidget(page)
        bind_zoom(self)
        theme().changed.connect(self._restyle)
        self._restyle()
        self.set_traces(())
        self.show_missing()

    def set_traces(self, paths: Sequence[Path]) -> None:
        """List the recordings that can be shown."""
        self._trace_row.clear()
        self.trace_buttons = []
        for path in paths:
            button = QPushButton(trace_title(path))
            button.setAutoDefault(True)
            button.clicked.connect(partial(self.trace_chosen.emit, path, trace_title(path)))
            self._trace_row.add(button)
            self.trace_buttons.append(button)
        self._traces_card.setVisible(bool(paths))
        before: QWidget = self
        for button in (*self.trace_buttons, *self._model_buttons):  # made in another order than they stand
            QWidget.setTabOrder(before, button)
            before = button

    def set_model(self, name: str, size: int = 0, licence: str = "", origin: str = "") -> None:
        """What would be fetched, size in bytes, 0 where it is here already; `origin`: maker/name."""
        if not size:
            self.model_text.setText(f"{name} is on this computer already.")
            return
        self.model_text.setText(
            f"{name} by {origin.partition('/')[0]}, {size / 1e6:.0f} MB to download, licence {licence}. "
            "It stays on this computer."
        )
        self.model_text.setToolTip(f"Its makers describe it under the name {origin}.")

    def show_missing(self, installed: bool = False) -> None:
        """No model is loaded; `installed`: but one is here."""
        self._show(button="Load the model" if installed else "Get the model")

    def show_progress(self, progress: Progress) -> None:
        """The model is on its way."""
        self._show(progress=True)
        words = amount(progress)
        self.step.setText(f"{progress.step}{', ' + words if words else ''}")
        self.bar.setRange(0, 1000 if progress.total > 0 else 0)
        if progress.total > 0:
            self.bar.setValue(int(1000 * min(1.0, progress.done / progress.total)))
        self.bar.setAccessibleDescription(self.step.text())
        self.ensureWidgetVisible(self.cancel_button)

    def show_error(self, sentence: str) -> None:
        """It did not work; try again."""
        self._show(button="Try again", error=sentence)

    def show_ready(self, name: str) -> None:
        """A model is loaded."""
        self._show(note=f"{name} is ready: start a chat on the left, or press Ctrl+N.")

    def take_focus(self) -> None:
        """To the first thing to press."""
        first = next((b for b in (*self.trace_buttons, *self._model_buttons) if not b.isHidden()), None)
        if first is not None:
            first.setFocus()

    def _show(self, *, button: str = "", progress: bool = False, error: str = "", note: str = "") -> None:
        focused = next((widget for widget in self._model_buttons if widget.hasFocus()), None)
        self.get_button.setVisible(bool(button))
        self.get_button.setText(button or "Get the model")
        for widget in (self.bar, self.step, self.cancel_button):
            widget.setVisible(progress)
        self.error.setText(error)
        self.error.setVisible(bool(error))
        self.note.setText(note)
        self.note.setVisible(bool(note))
        for widget in (self.folder_button, self.gguf_button):
            widget.setVisible(not progress)
        self._buttons.arrange(force=True)
        if focused is not None and focused.isHidden() and (progress or button):
            (self.cancel_button if progress else self.get_button).setFocus()

    def _make_traces(self) -> QFrame:
        card, column = self._card("Look at a recorded run", "Real rounds of the default model. Nothing to download.")
        self._trace_row = FlowGrid(BUTTON_WIDTH)
        self.trace_buttons: list[QPushButton] = []
        column.addWidget(self._trace_row)
        return card

    def _make_model(self) -> QFrame:
        card, column = self._card("Chat yourself", "")
        self.model_text = _words("A small model, downloaded once. Everything you write stays on this computer.")
        self._muted.append(self.model_text)
        column.addWidget(self.model_text)
        self.error, self.note = _words(""), _words("")
        self.step = _words("")
        self.bar = QProgressBar(textVisible=False)
        self.bar.setAccessibleName("Progress of getting the model")
        self.get_button = QPushButton("Get the model")
        self.get_button.setObjectName("main")
        self.get_button.clicked.connect(self.get_model)
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.clicked.connect(self.cancel)
        self.folder_button = QPushButton("Open a model folder…")
        self.folder_button.clicked.connect(self.open_folder)
        self.gguf_button = QPushButton("Open a GGUF file…")
        self.gguf_button.clicked.connect(self.open_gguf)
        for widget in (self.error, self.note, self.step, self.bar):
            column.addWidget(widget)
        self._buttons = FlowGrid(BUTTON_WIDTH)
        self._model_buttons = (self.get_button, self.cancel_button, self.folder_button, self.gguf_button)
        for button in self._model_buttons:
            self._buttons.add(button)
        column.addWidget(self._buttons)
        return card

    def _card(self, heading: str, text: str) -> tuple[QFrame, QVBoxLayout]:
        card = QFrame()
        card.setObjectName("card")
        column = QVBoxLayout(card)
        column.setContentsMargins(GAP_LARGE, GAP_LARGE, GAP_LARGE, GAP_LARGE)
        column.setSpacing(GAP)
        label = QLabel(heading)
        self._headings.append(label)
        column.addWidget(label)
        if text:
            words = _words(text)
            self._muted.append(words)
            column.addWidget(words)
        return card, column

    def _restyle(self) -> None:
        t = theme()
        self.error.setStyleSheet(f"color: {t.color('danger').name()};")
        self.note.setStyleSheet(f"color: {t.color('success').name()};")
        c = {role: t.color(role).name() for role in ("surface", "line", "accent", "on_accent", "window")}
        self.widget().setStyleSheet(
            f"#page {{ background: {c['window']}; }}"
            f"#card {{ background: {c['surface']}; border: 1px solid {c['line']}; border-radius: {RADIUS}px; }}"
            f"#main {{ background: {c['accent']}; color: {c['on_accent']}; border: 0; border-radius: 4px;"
            f" padding: {GAP_SMALL + 2}px {GAP_LARGE}px; font-weight: bold; }}"
        )
        for grid in (self._trace_row, self._buttons):
            grid.set_column_width(t.pixels(BUTTON_WIDTH))
        self.title.setFont(t.font(2.2, bold=True))  # after the sheet, which would put the fonts back
        for label in self._headings:
            label.setFont(t.font(1.2, bold=True))
        for label in self._muted:
            label.setStyleSheet(f"color: {t.color('muted').name()};")


def _words(text: str) -> QLabel:
    """A paragraph."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
    return label
