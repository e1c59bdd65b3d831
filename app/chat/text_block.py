"""Read-only text of a message, as tall as its content. Loads nothing, opens nothing by itself."""

from __future__ import annotations

import math
from functools import lru_cache

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QTextEdit, QWidget

from app.chat import links
from app.chat.findable import Findable
from app.chat.markdown import HEADINGS
from app.chat.word_mouse import WordMouse
from app.theme import theme

NOTHING = QByteArray(b" ")
AT_FIRST = 600  # pixels, until its width is known; at Qt's 0 every letter of a long word would be a line for a moment


class TextBlock(WordMouse, Findable, QTextBrowser):
    """HTML made by `app.chat.markdown`, or plain text; grows as text is appended."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._html: str | None = None
        self._added = ""  # behind the HTML
        self._sheet = ""
        self._heights: dict[int, int] = {}  # by width, of the present content
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # A fixed wrap width: otherwise QTextEdit wraps at its present width again as soon as another one is measured.
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setLineWrapColumnOrWidth(AT_FIRST)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.viewport().setAutoFillBackground(False)
        self.document().setDocumentMargin(0)
        self.document().contentsChanged.connect(self._heights.clear)
        # Not Fixed: layouts remember the hint of another width, and would not let it grow beyond that.
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("Message text")
        self.anchorClicked.connect(self._link_clicked)

    def set_html(self, html: str) -> None:
        """Show safe HTML; keeps nothing of what was shown."""
        if html != self._html:
            self.forget_links()
        self._html, self._added = html, ""
        sheet = style_sheet()
        if sheet != self._sheet:
            self._sheet = sheet
            self.document().setDefaultStyleSheet(sheet)
        self.setHtml(html)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if "<a " in html else Qt.FocusPolicy.ClickFocus)
        self.updateGeometry()

    def set_plain(self, text: str) -> None:
        """Show text exactly as it is."""
        self._html, self._added = None, ""
        self.forget_links()
        self.setPlainText(text)
        self.updateGeometry()

    def ends_in_words(self) -> bool:
        """Whether what is appended would stand behind words; Qt puts an empty paragraph behind some HTML."""
        return self.document().lastBlock().length() > 1

    def append_plain(self, text: str) -> None:
        """Add text at the end without laying out again what is there."""
        self._added += text
        height = self.document().size().height()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text, QTextCharFormat())
        if self.document().size().height() != height:
            self.updateGeometry()

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        if self._html is not None:
            added = self._added
            self.set_html(self._html)
            if added:
                self.append_plain(added)
        self.mark_again()
        self.updateGeometry()

    def heightForWidth(self, width: int) -> int:
        """Height of the content at a width. Layouts ask again and again, for several widths: laying out is dear."""
        found = self._heights.get(width)
        if found is None:
            self._wrap(width)
            found = self._heights[width] = math.ceil(self.document().size().height())
        return found

    def hasHeightForWidth(self) -> bool:
        """Height depends on width."""
        return True

    def sizeHint(self) -> QSize:
        """The present height."""
        return QSize(200, math.ceil(self.document().size().height()))

    def minimumSizeHint(self) -> QSize:
        """Narrow is fine."""
        return QSize(40, 0)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Nothing is ever loaded: no picture, no style sheet, from nowhere.

        Not None: after that QTextDocument would read local files itself.
        """
        return NOTHING

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out for the new width."""
        self._wrap(self.width())
        super().resizeEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave vertical scrolling to the conversation."""
        event.ignore()

    def changeEvent(self, event: QEvent) -> None:
        """Measure again when the font changed."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._heights.clear()
            self.updateGeometry()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide the focus."""
        super().focusOutEvent(event)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw, wrapped at the width that it has: another one may have been measured last."""
        self._wrap(self.width())
        super().paintEvent(event)
        if self.hasFocus() and self.focusPolicy() == Qt.FocusPolicy.StrongFocus:
            painter = QPainter(self.viewport())
            painter.setPen(QPen(QColor(theme().color("accent")), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
            painter.end()

    def _wrap(self, width: int) -> None:
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)

    def _link_clicked(self, url: QUrl) -> None:
        links.ask(self.window(), url)


def style_sheet() -> str:
    """How HTML of a message looks, for `QTextDocument.setDefaultStyleSheet`."""
    colors = theme()
    return _sheet(colors.dark, colors.font_size)


@lru_cache(maxsize=4)
def _sheet(_dark: bool, size: float) -> str:
    colors = theme()
    mono = colors.font(mono=True).family()
    heads = "".join(
        f".{name} {{ font-size: {size * scale:.1f}pt; font-weight: bold; margin-top: 10px; margin-bottom: 6px; }}"
        for name, scale in HEADINGS.items()
    )
    return (
        f"p {{ margin-top: 0; margin-bottom: 8px; line-height: 125%; }} {heads}"
        f"ul, ol {{ margin-top: 0; margin-bottom: 8px; }} li {{ margin-bottom: 3px; }}"
        f"code {{ font-family: '{mono}'; background-color: {colors.color('code').name()}; }}"
        f"blockquote {{ margin-left: 14px; margin-right: 0; color: {colors.color('muted').name()}; }}"
        f"a {{ color: {colors.color('accent').name()}; }}"
        f"table {{ border-collapse: collapse; border-color: {colors.color('line').name()}; border-style: solid;"
        " margin-bottom: 8px; }"
        f"th {{ background-color: {colors.color('raised').name()}; }}"
    )
