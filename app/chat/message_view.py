"""One message: who, the text, what can be done with it. Says what the user wants by signals; changes no store."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QWidget

from app.chat.body import MarkdownBody
from app.chat.code_block import CodeView
from app.chat.edit_box import EditBox
from app.chat.message_frame import MessageFrame
from app.chat.message_header import MessageHeader
from app.chat.provenance import Provenance
from app.chat.provenance_view import NO_MARKDOWN, ProvenanceView
from app.chat.stats import footer
from app.chat.text_block import TextBlock
from app.chat.token_words import legend
from app.chat.word_link import WordLink
from app.store import Message
from app.theme import theme


class MessageView(MessageFrame):
    """A message of the conversation.

    Signals (the id of the message first):
        regenerate: make another version of this reply.
        resend: send the edited prompt as another version.
        version: show the previous (-1) or next (+1) version.
        rounds: show this reply's rounds in the tree view.
        token_hovered, token_clicked: round and node.
        word_hovered, word_clicked: a character of the text, where it is shown as Markdown; -1 for none.
    """

    regenerate = Signal(int)
    resend = Signal(int, str)
    version = Signal(int, int)
    rounds = Signal(int)
    token_hovered = Signal(int, int, int)
    token_clicked = Signal(int, int, int)
    word_hovered = Signal(int, int)
    word_clicked = Signal(int, int)

    def __init__(self, message: Message, running: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(message.role == "user", parent)
        self.message, self.text = message, message.content
        self._waiting = ""  # streamed text that the hidden Markdown has not had yet
        self.running = running
        self.editor: EditBox | None = None
        self.drafts: dict[int, str] = {}  # by message: what was typed in an editor and not sent
        self.tokens: ProvenanceView | None = None
        self._note = self.add_line()
        self._note.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.header = self._add_header()
        self._legend = self.add_line()
        self._legend.setToolTip(NO_MARKDOWN)
        self.body: MarkdownBody | TextBlock = TextBlock(self) if self.user else self._markdown(self.text)
        if isinstance(self.body, TextBlock):
            self.body.set_plain(self.text)
        self.column.addWidget(self.body)
        self._footer = self.add_line()
        self._show_state()
        self._restyle_frame()  # the body has just been made in the present style

    def append(self, text: str) -> None:
        """Add streamed text."""
        if not self.text and isinstance(self.body, MarkdownBody):
            self._footer.hide()
        self.text += text
        self._waiting += text
        if self.tokens is None:
            self._flush()
            self.column.activate()

    def finish(self, message: Message) -> None:
        """The reply is complete: show its numbers."""
        self.running = False
        if isinstance(self.body, MarkdownBody):
            if message.content != self.text:
                self._replace_body(message.content)
            else:
                self._flush()
                self.body.finish()
        self.set_message(message)
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def set_message(self, message: Message) -> None:
        """New facts about the same message (versions, numbers)."""
        self.message, self.text = message, message.content
        self._show_state()

    def set_note(self, text: str) -> None:
        """A line above the message; "" removes it."""
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def set_busy(self, busy: bool) -> None:
        """While a reply is running nothing else can be asked for."""
        self.header.set_busy(busy)

    def show_tokens(self, provenance: Provenance | None, reason: str = "") -> None:
        """Show the text with the origin of each token, or why that is not possible; None and no reason: Markdown."""
        if provenance is None:
            if self.tokens is not None:
                self.take_out(self.tokens)
                self.tokens = None
            self._flush()
            self._legend.setText(reason)
            self._legend.setVisible(bool(reason))
            self.body.show()
            return
        if self.tokens is None:
            self.tokens = ProvenanceView(self)
            self.tokens.hovered.connect(lambda number, node: self.token_hovered.emit(self.message.id, number, node))
            self.tokens.clicked.connect(lambda number, node: self.token_clicked.emit(self.message.id, number, node))
            self.put_before(self.tokens, self.body)
            self.body.hide()
        self.tokens.show_tokens(provenance)
        self._legend.setText(legend(provenance))
        self._legend.show()

    def texts(self) -> list[TextBlock | CodeView]:
        """Widgets in which words can be marked, from top to bottom."""
        if self.tokens is not None:
            return [self.tokens]
        if isinstance(self.body, TextBlock):
            return [self.body]
        return self.body.texts()

    @property
    def words(self) -> WordLink | None:
        """The words of the Markdown, None for a prompt."""
        return self.body.words if isinstance(self.body, MarkdownBody) else None

    def edit(self) -> None:
        """Open the editor of a prompt."""
        if self.editor is not None or not self.user or not self.header.edit_button.isEnabled():
            return
        self.editor = EditBox(self.text, self.drafts.get(self.message.id, ""), self)
        self.editor.input.textChanged.connect(self._keep_draft)
        self.editor.accepted.connect(self._resend)
        self.editor.cancelled.connect(self._close_editor)
        self.put_before(self.editor, self.body)
        self.body.hide()
        self.editor.show()
        self.editor.start()

    def copy(self) -> None:
        """Put the message's text on the clipboard, Markdown as it is."""
        QGuiApplication.clipboard().setText(self.text)
        self.header.show_copied()

    def restyle(self) -> Iterator[None]:
        """Take the theme's colours and size, a step for each `next`."""
        self._restyle_frame()
        if self.tokens is not None:
            self.tokens.restyle()
        if isinstance(self.body, MarkdownBody):
            yield from self.body.restyle()
        else:
            self.body.restyle()

    def _restyle_frame(self) -> None:
        for label in (self._footer, self._legend, self._note):
            label.setFont(theme().font(0.85))
        self.header.restyle()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of this widget."""
        actions = {
            Qt.Key.Key_Left: lambda: self._step(-1),
            Qt.Key.Key_Right: lambda: self._step(1),
            Qt.Key.Key_C: self.copy,
            Qt.Key.Key_E: self.edit if self.user else None,
            Qt.Key.Key_R: None if self.user else self._again,
        }
        action = actions.get(Qt.Key(event.key()))
        if action is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        else:
            action()

    def _add_header(self) -> MessageHeader:
        header = MessageHeader(self.message, self)
        header.step.connect(self._step)
        header.rounds.connect(lambda: self.rounds.emit(self.message.id))
        header.copied.connect(self.copy)
        header.edit.connect(self.edit)
        header.again.connect(self._again)
        self.column.addWidget(header)
        return header

    def _show_state(self) -> None:
        message = self.message
        self.setAccessibleName(f"{self.header.name}: {self.text[:120]}")
        self.header.show_state(message, self.running)
        if self.running:
            self._footer.setText("" if self.text else "…")
            self._footer.setVisible(not self.text)
        else:
            line = "" if self.user else footer(message.stats, message.finish_reason)
            self._footer.setText(line)
            self._footer.setVisible(bool(line))

    def _replace_body(self, text: str) -> None:
        old, self.body = self.body, self._markdown(text)
        self.put_before(self.body, old)
        self.take_out(old)
        self.body.setVisible(self.tokens is None)

    def _markdown(self, text: str) -> MarkdownBody:
        made = MarkdownBody(text, self)
        made.words.hovered.connect(lambda at: self.word_hovered.emit(self.message.id, at))
        made.words.clicked.connect(lambda at: self.word_clicked.emit(self.message.id, at))
        return made

    def _flush(self) -> None:
        """Give the Markdown what came while it was not shown."""
        waiting, self._waiting = self._waiting, ""
        if waiting and isinstance(self.body, MarkdownBody):
            self.body.append(waiting)

    def _close_editor(self) -> None:
        if self.editor is not None:
            self.take_out(self.editor)
            self.editor = None
            self.body.show()
            self.setFocus()

    def _keep_draft(self) -> None:
        text = self.editor.input.toPlainText() if self.editor is not None else self.text
        if text != self.text:
            self.drafts[self.message.id] = text
        else:
            self.drafts.pop(self.message.id, None)

    def _resend(self, text: str) -> None:
        self._close_editor()
        self.resend.emit(self.message.id, text)

    def _again(self) -> None:
        if not self.running and self.header.again_button.isEnabled():
            self.regenerate.emit(self.message.id)

    def _step(self, delta: int) -> None:
        if 1 <= self.message.version + delta <= self.message.versions:
            self.version.emit(self.message.id, delta)
