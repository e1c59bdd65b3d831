"""What stands in the middle: welcome page, a conversation, or a recorded run. Knows no engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.one_by_one import OneByOne
from app.store import StoreError
from engine import Turn

if TYPE_CHECKING:
    from app.main_window import MainWindow

LIST_MS = 30  # after a change, when what was opened with it is shown


class Pages(QObject):
    """Opens and closes pages, and has the right side follow."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._panels, self._store = window.panels, window.store
        self._presenter, self._player = window.presenter, window.player
        self._wanted = 0  # how often something was opened
        self._later, self._listing = OneByOne(self), OneByOne(self, LIST_MS)
        p, f = self._panels, window.files
        p.chats.chosen.connect(self.open_chat)
        p.chats.hit_chosen.connect(self.open_chat)
        p.chats.deleted.connect(self._chat_deleted)
        p.pane.chats_changed.connect(self._chats_changed)
        p.recording.closed.connect(self._close_recording)
        p.recording.view.turn_wanted.connect(self._show_recording_again)
        f.trace_opened.connect(self.show_recording)
        f.chat_imported.connect(self._imported)
        p.middle.currentChanged.connect(self._page_changed)

    def show_first(self) -> None:
        """The chat of last time, or the welcome page."""
        p = self._panels
        try:
            chats = self._store.chats.list()
        except StoreError as error:
            chats = []
            self._window.complain(str(error))
        if chats:
            p.chats.select(chats[0].id)
            self.open_chat(chats[0].id)
            self._later.finish()
            p.pane.composer.input.setFocus()  # the window is not active yet; it will be
        else:
            self.show_welcome()
        if self._store.notice:
            p.messages.show_message(self._store.notice, "warning")

    def show_welcome(self) -> None:
        """The welcome page."""
        self._wanted += 1
        self._panels.show_page(self._panels.welcome)
        self.take_focus()

    def take_focus(self) -> None:
        """Put the focus where the page is begun."""
        p = self._panels
        if p.page is p.welcome:
            p.welcome.take_focus()
        else:
            (p.pane.composer.input if p.page is p.pane else p.recording.view.flow).setFocus()

    def find(self) -> None:
        """Search in the conversation or the recording that is seen."""
        p = self._panels
        (p.recording.view if p.page is p.recording else p.pane.view).open_find()

    def open_chat(self, chat: int, message: int = 0, words: str = "") -> None:
        """Show a chat, in the branch of a message if one is given and with these words marked in it."""
        self._wanted += 1
        if not message:
            self._open(chat, 0, words)
            return
        reveal = partial(self._store.messages.reveal, message)
        then = partial(self._revealed, self._wanted, partial(self._open, chat, message, words))
        self._window.writer.run(reveal, "showing a message", then, self._window.complain)

    def _revealed(self, wanted: int, then: Callable[[], None], _: None) -> None:
        if wanted == self._wanted:  # and nothing else was opened meanwhile
            then()

    def _open(self, chat: int, message: int, words: str) -> None:
        """The chat in the middle and its newest rounds on the right: read now, shown in the next turns."""
        p = self._panels
        self._player.stop()
        found = p.pane.read_chat(chat)
        self._window.sampling.pull()
        p.show_page(p.pane)
        shown = [partial(p.pane.show_chat, message)] if found else []
        marked = [partial(p.pane.show_words, message, words)] if found and words else []
        self._later.begin(*shown, *marked, partial(self._presenter.show_chat, chat))
        if not words and self._window.isActiveWindow() and not p.chats.isAncestorOf(self._window.focusWidget()):
            p.pane.composer.input.setFocus()

    def new_chat(self) -> None:
        """An empty chat, ready to be written in."""
        self._panels.chats.new_chat()
        self._panels.pane.composer.input.setFocus()

    def search_chats(self) -> None:
        """To the search field of the list."""
        self._panels.set_shown("show_chats", True)
        self._panels.chats.focus_search()

    def show_recording(self, turn: Turn, name: str) -> None:
        """Show a recorded run in the middle and from its first round on the right."""
        p = self._panels
        self._wanted += 1
        p.recording.show_turn(turn, name)
        p.show_page(p.recording)
        self.take_focus()  # the field for messages went with the chat
        self._later.begin(partial(self._presenter.show_recording, turn))

    def settle(self) -> None:
        """Do now what is still to be done for the page that was opened."""
        self._later.finish()

    def _page_changed(self) -> None:
        p, actions = self._panels, self._window.actions_
        p.chats.covered = p.page is not p.pane
        actions["find"].setEnabled(p.page is not p.welcome)
        for name in ("regenerate", "edit_prompt"):
            actions[name].setEnabled(p.page is p.pane)

    def _close_recording(self) -> None:
        if self._panels.pane.chat:
            self.open_chat(self._panels.pane.chat)
        elif self._window.models.info is not None:
            self.new_chat()
        else:
            self.show_welcome()

    def _show_recording_again(self, _message: int) -> None:
        if self._panels.recording.turn is not None:
            self._presenter.show_recording(self._panels.recording.turn)

    def _chat_deleted(self, chat: int) -> None:
        turns = self._window.turns
        if turns.request is not None and turns.request.chat == chat:
            turns.stop()
        if chat == self._panels.pane.chat:
            self._panels.pane.close_chat()
            self._later.begin(partial(self._window.selection.show_turn, None))

    def _chats_changed(self) -> None:
        """Not now: a reply begins or ends, or a chat is opened, which is enough for one turn."""
        self._listing.begin(self._list_chats)

    def _list_chats(self) -> None:
        self._panels.chats.select(self._panels.pane.chat)
        self._panels.chats.refresh()

    def _imported(self, chat: int) -> None:
        self.open_chat(chat)
        self._chats_changed()
