"""The inside of a message as a column of blocks, and how it grows while the text arrives.

Finished blocks are made once and never touched again; only the tail changes: text is appended as it comes, and its
Markdown is shown at most four times a second, more rarely where it is long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import isValid

from app.chat.block_splitter import BlockSplitter
from app.chat.code_block import CodeBlock, CodeView
from app.chat.highlight import prepare
from app.chat.markdown import Block, blocks
from app.chat.plain_growth import grows_plainly
from app.chat.text_block import TextBlock
from app.chat.word_link import WordLink
from app.theme import GAP, GAP_SMALL

INDENT = 28  # pixels per list around a code block
REFRESH_MS, SLOWEST_MS = 220, 2000  # between two pictures of the Markdown of an unfinished tail
SHARE = 50  # a picture may cost this part of the time to the next
REFRESH_UP_TO = 6000  # characters of the tail; a longer one shows its Markdown when it is finished


class MarkdownBody(QWidget):
    """Markdown as widgets, one per run of text and one per block of code.

    Attributes:
        words: ties the words to the text that they were made from.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)  # what stands stays where it is while more is added
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._env: dict[str, Any] = {}
        self._splitter = BlockSplitter()
        self.words = WordLink(self)
        self._sources: dict[TextBlock | CodeView, tuple[int, int]] = {}  # of finished blocks
        self._taken = 0  # characters of the text that are in finished blocks
        self._blocks: list[TextBlock | CodeBlock] = []
        self._tail: TextBlock | CodeBlock | None = None
        self._refreshed = self._grown = 0.0  # when the Markdown was shown, and text came last
        self._wait = float(REFRESH_MS)
        self._exact = 0  # characters of the tail that are shown as Markdown shows them; 0: not all of what is shown is
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._refresh)
        if text:
            self.words.source = text
            self._show(text)

    def blocks(self) -> list[TextBlock | CodeBlock]:
        """The widgets, first to last, the tail included."""
        return [*self._blocks, *([self._tail] if self._tail else [])]

    def texts(self) -> list[TextBlock | CodeView]:
        """The widgets that hold the words, first to last."""
        return [_text_of(block) for block in self.blocks()]

    def source_range(self, text: TextBlock | CodeView) -> tuple[int, int]:
        """Start and end (exclusive), in characters of the whole text, of what one of `texts` was made from."""
        found = self._sources.get(text)
        return (self._taken, self._taken + len(self._splitter.tail)) if found is None else found

    def append(self, text: str) -> None:
        """Add streamed text."""
        self.words.source += text
        finished = self._splitter.feed(text)
        if finished:
            self._show(finished, self._take_tail())
            self._grow_tail(self._splitter.tail)
        else:
            self._grow_tail(text)
        self._layout.activate()

    def finish(self) -> None:
        """The text is complete: the tail becomes blocks like the rest."""
        self._timer.stop()
        tail, self._splitter = self._splitter.tail, BlockSplitter()
        self._show(tail, self._take_tail())

    def restyle(self) -> Iterator[None]:
        """Take the theme's colours and size, a block for each `next`, and its height with it."""
        for block in self.blocks():
            if isValid(block):  # the tail may have been replaced meanwhile
                block.restyle()
                block.heightForWidth(block.width())  # kept: not all heights at once when the column is measured
                yield

    def _grow_tail(self, new: str) -> None:
        code = self._splitter.code()
        if code is not None:
            if not isinstance(self._tail, CodeBlock):
                prepare(code[0])
                self._replace_tail(CodeBlock(code[0], parent=self))
            self._tail.grow_to(code[1], code[0])  # type: ignore[union-attr]
            return
        if not isinstance(self._tail, TextBlock):
            if not self._splitter.tail.strip():
                return
            self._replace_tail(TextBlock(self))
            new = self._splitter.tail.lstrip("\n")
        elif self._grow_by_words():
            return
        # Where text comes seldom its Markdown is shown at once: adding words and laying out twice would cost double.
        now = time.monotonic()
        since, gap = 1000 * (now - self._refreshed), 1000 * (now - self._grown)
        self._grown = now
        if since + gap / 2 >= self._wait and self._refresh():
            self._timer.stop()
            return
        self._tail.append_plain(new)  # type: ignore[union-attr]
        self._exact = 0
        if not self._timer.isActive() or gap > REFRESH_MS / 2:
            self._timer.start(round(max(self._wait, min(1.5 * gap, SLOWEST_MS))))

    def _grow_by_words(self) -> bool:
        """Add what Markdown would show as it is, with the space that it left out at the end of what is shown."""
        assert isinstance(self._tail, TextBlock)
        tail = self._splitter.tail.rstrip(" ")
        new = tail[self._exact :]
        if not self._exact or not new:
            return self._exact > 0
        if not self._tail.ends_in_words() or not grows_plainly(tail[: self._exact], new):
            return False
        self._tail.append_plain(new)
        self._exact, self._grown = len(tail), time.monotonic()
        return True

    def _refresh(self) -> bool:
        """Show the Markdown of an unfinished tail, all of it, if that is due and possible."""
        began, tail = time.thread_time(), self._splitter.tail
        if not isinstance(self._tail, TextBlock) or len(tail) > REFRESH_UP_TO:
            return False
        if self._tail.textCursor().hasSelection():  # someone is about to copy
            return False
        found = blocks(tail, dict(self._env))
        if len(found) != 1 or found[0].kind != "text":
            return False
        self._tail.set_html(found[0].content)
        self._exact = len(tail.rstrip())
        cost = 1000 * (time.thread_time() - began)
        self._refreshed = time.monotonic()
        self._wait = min(max(SHARE * cost, REFRESH_MS), SLOWEST_MS)
        return True

    def _show(self, source: str, reuse: TextBlock | CodeBlock | None = None) -> None:
        """Add finished blocks; the first takes over the tail's widget where it is of its kind."""
        found = blocks(source, self._env)
        if reuse is not None and (not found or isinstance(reuse, CodeBlock) != (found[0].kind == "code")):
            self._drop(reuse)
            reuse = None
        for block in found:
            widget, reuse = reuse or self._make(block), None
            if isinstance(widget, CodeBlock):
                widget.set_code(block.content, block.language)
            else:
                widget.set_html(block.content)
            self._sources[_text_of(widget)] = (self._taken + block.start, self._taken + block.end)
            if widget not in self._blocks:
                self._blocks.append(widget)
        self._taken += len(source)

    def _make(self, block: Block) -> TextBlock | CodeBlock:
        made = CodeBlock(block.language, block.indent, self) if block.kind == "code" else TextBlock(self)
        self._place(made)
        return made

    def _place(self, widget: TextBlock | CodeBlock) -> None:
        _text_of(widget).words = self.words
        if isinstance(widget, CodeBlock):
            row = QVBoxLayout()
            row.setContentsMargins(INDENT * widget.indent, GAP_SMALL, 0, GAP)
            row.addWidget(widget)
            self._layout.addLayout(row)
        else:
            self._layout.addWidget(widget)
        widget.show()

    def _take_tail(self) -> TextBlock | CodeBlock | None:
        tail, self._tail, self._exact = self._tail, None, 0
        return tail

    def _replace_tail(self, widget: TextBlock | CodeBlock) -> None:
        old = self._take_tail()
        if old is not None:
            self._drop(old)
        self._tail = widget
        self._place(widget)

    def _drop(self, widget: TextBlock | CodeBlock) -> None:
        self._layout.removeWidget(widget)
        widget.hide()
        widget.deleteLater()


def _text_of(block: TextBlock | CodeBlock) -> TextBlock | CodeView:
    return block.view if isinstance(block, CodeBlock) else block
