"""A block of code with its language and a Copy button that is always there."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QTextCharFormat,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.chat.findable import Findable
from app.chat.highlight import colour, language_name
from app.chat.word_mouse import WordMouse
from app.theme import GAP, GAP_SMALL, theme

COPIED_MS = 1500
TAB = 4  # columns


class CodeView(WordMouse, Findable, QPlainTextEdit):
    """Code as tall as it is, scrolling sideways only."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUndoRedoEnabled(False)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setMouseTracking(True)
        self.document().setDocumentMargin(GAP)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("Code")
        self._longest = 0.0  # pixels

    def grow(self, text: str) -> None:
        """Add code at the end."""
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        start = cursor.block().text()
        cursor.insertText(text, QTextCharFormat())
        self._measure((start + text).split("\n"))

    def measure(self) -> None:
        """Find the height again, after the font or the whole text changed."""
        self._longest = 0.0
        self.setTabStopDistance(TAB * QFontMetricsF(self.font()).horizontalAdvance(" "))
        self._measure(self.toPlainText().split("\n"))

    def _measure(self, lines: list[str]) -> None:
        metrics = QFontMetricsF(self.font())
        candidates = sorted(lines, key=len)[-3:]
        widest = max((metrics.horizontalAdvance(line.expandtabs(TAB)) for line in candidates), default=0.0)
        self._longest = max(self._longest, widest)
        self._fit()

    def _fit(self) -> None:
        wide = self._longest + 2 * GAP + 2 > self.viewport().width()
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if wide else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if policy != self.horizontalScrollBarPolicy():
            self.setHorizontalScrollBarPolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if wide else Qt.FocusPolicy.ClickFocus)
        bar = self.horizontalScrollBar().sizeHint().height() if wide else 0
        line = self.blockBoundingRect(self.document().firstBlock()).height()
        if self.blockCount() == 1:
            line -= GAP  # the last block's rectangle has the document's margin in it
        height = round(self.blockCount() * line + 2 * GAP + bar)
        if height != self.height() or height != self.minimumHeight():
            self.setFixedHeight(height)

    def resizeEvent(self, event: object) -> None:
        """Lay out for the new width."""
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Measure again when the font changed."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.measure()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The focus is seen."""
        super().paintEvent(event)
        if self.hasFocus():
            with QPainter(self.viewport()) as painter:
                painter.setPen(QPen(theme().color("accent"), 1, Qt.PenStyle.DotLine))
                painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show it."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide it."""
        super().focusOutEvent(event)
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave vertical scrolling to the conversation."""
        sideways = abs(event.angleDelta().x()) > abs(event.angleDelta().y())
        if sideways or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    def minimumSizeHint(self) -> QSize:
        """Narrow is fine."""
        return QSize(40, 20)


class CodeBlock(QFrame):
    """Language, Copy button, code.

    Attributes:
        code: the code, exactly; the view's own text has no no-break spaces.
    """

    def __init__(self, language: str = "", indent: int = 0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.language = language
        self.code = ""
        self.setObjectName("codeBlock")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 1, 1, 1)
        outer.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(GAP, GAP_SMALL, GAP_SMALL, 0)
        self._label = QLabel()
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setProperty("muted", True)
        self.copy_button = QPushButton("Copy")
        self.copy_button.setAutoDefault(False)
        self.copy_button.setToolTip("Copy this code")
        self.copy_button.clicked.connect(self.copy)
        head.addWidget(self._label, 1)
        head.addWidget(self.copy_button)
        outer.addLayout(head)
        self.view = CodeView(self)
        outer.addWidget(self.view)
        self._coloured = False
        self._back = QTimer(self, interval=COPIED_MS, singleShot=True)
        self._back.timeout.connect(self._reset_button)
        self.indent = indent
        self._name(language)
        self.restyle()

    def set_code(self, code: str, language: str) -> None:
        """Show finished code, coloured."""
        self._name(language)
        if code != self.code:
            self.code = code
            self.view.forget_links()
            self.view.setPlainText(code)
        self._coloured = True
        colour(self.view.document(), language)
        self.view.measure()

    def grow_to(self, code: str, language: str) -> None:
        """Show unfinished code; what is there already stays, colours come at the end."""
        if language != self.language:
            self._name(language)
        present, self.code = self.code, code
        if not code.startswith(present):
            self.view.forget_links()
            self.view.setPlainText(code)
            self.view.measure()
        elif len(code) > len(present):
            self.view.grow(code[len(present) :])

    def copy(self) -> None:
        """Put the code on the clipboard."""
        QGuiApplication.clipboard().setText(self.code)
        self.copy_button.setText("Copied ✓")
        self._back.start()

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        colors = theme()
        self.view.setFont(colors.font(0.95, mono=True))
        self._label.setFont(colors.font(0.85))
        self.copy_button.setFont(colors.font(0.85))
        palette = self.view.palette()
        palette.setColor(QPalette.ColorRole.Base, colors.color("code"))
        palette.setColor(QPalette.ColorRole.Text, colors.color("text"))
        self.view.setPalette(palette)
        if self._coloured:
            colour(self.view.document(), self.language)
        self.view.mark_again()
        self.view.measure()

    def _name(self, language: str) -> None:
        self.language = language
        name = language_name(language) or "Code"
        self._label.setText(name)
        self.view.setAccessibleName(f"{name} code" if language else "Code")
        self.copy_button.setAccessibleName(f"Copy this {name} code" if language else "Copy this code")

    def _reset_button(self) -> None:
        self.copy_button.setText("Copy")
