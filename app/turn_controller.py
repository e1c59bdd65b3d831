"""Runs the replies that the chat asks for: engine on one side, conversation, selection and status on the other."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.chat.pane import ChatPane
from app.chat.request import Request
from app.chat.stats import message_stats
from app.engine_link import EngineLink
from app.engine_settings import EngineSettings
from app.selection import Selection
from app.store import Store
from app.throttle import Throttle
from app.turn_recorder import TurnRecorder
from engine import Event, Phase, Prefill, PrefillProgress, Round, Turn, TurnEnd, TurnStart

ANNOUNCE_MS = 100  # between two updates of tree, timeline, plots and numbers; the text follows every tick


class TurnController(QObject):
    """One reply at a time.

    Signals:
        started(Turn): a turn began; it grows while it runs.
        grown(): records were added to it, at most ten times a second, less where the engine needs every processor.
        ended(Turn): it is complete, or failed.
        waiting(object): a stepped engine waits at this `Phase`; None: it goes on.
        failed(str, str): sentence, traceback or "".
        warned(str): the engine's own warning about the turn.
    """

    started = Signal(object)
    grown = Signal()
    ended = Signal(object)
    waiting = Signal(object)
    failed = Signal(str, str)
    warned = Signal(str)

    def __init__(
        self,
        link: EngineLink,
        store: Store,
        pane: ChatPane,
        selection: Selection,
        settings: EngineSettings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._link, self._store, self._pane = link, store, pane
        self._selection, self._settings = selection, settings
        self._job = 0
        self._phase: Phase | None = None  # at which a stepped engine waits
        self._announce = Throttle(self._tell, ANNOUNCE_MS, self, link.pace)
        self.request: Request | None = None
        self.last_request: Request | None = None
        self.turn: Turn | None = None
        self.emitted = 0  # tokens of the running turn so far
        pane.generate.connect(self._generate)
        pane.stop_requested.connect(self.stop)
        link.turn_events.connect(self._events)
        link.failed.connect(self._failed)
        link.done.connect(self._done)

    @property
    def running(self) -> bool:
        """Whether a reply is being made."""
        return self.request is not None

    def stop(self) -> None:
        """Stop the reply."""
        if self._job:
            self._link.stop(self._job)

    def _generate(self, request: Request) -> None:
        self.request = self.last_request = request
        self.turn, self.emitted = Turn(), 0
        self._link.set_config(self._settings.config.with_(max_new_tokens=request.max_new_tokens))
        recorder = TurnRecorder(self._store, request.message)
        self._job = self._link.generate(request.messages, request.sampling, recorder=recorder)
        self._pane.set_state("Waiting for the engine…")

    def _events(self, job: int, events: list[Event]) -> None:
        if job != self._job or self.request is None or self.turn is None:
            return
        text = ""
        for event in events:
            self.turn.add(event)
            if isinstance(event, TurnStart):  # told while it is empty: there is nothing to draw yet
                self._pane.started(self.request.message, self.turn)
                self.started.emit(self.turn)
            elif isinstance(event, Prefill | Round):
                text += event.text
                self.emitted += len(event.emitted) if isinstance(event, Round) else 1
        self._show(events, text)

    def _show(self, events: list[Event], text: str) -> None:
        assert self.request is not None
        assert self.turn is not None
        message = self.request.message
        if text:
            self._pane.view.append_text(message, text)
        last = events[-1]
        if isinstance(last, PrefillProgress):
            self._pane.set_state(f"Reading the prompt, {last.done} of {last.total} tokens…")
        elif isinstance(last, Phase):
            self._pane.set_state("The engine waits at a step.")  # the steps under the tree say at which
        elif isinstance(last, TurnStart):
            self._pane.set_state("Reading the prompt…")
        else:
            self._pane.set_state("")
        self._phase = last if isinstance(last, Phase) else None
        over = isinstance(last, TurnEnd)
        if self.turn.rounds or self._phase is not None or over:  # before, there is nothing to draw
            self._announce()
        if over:
            self._announce.flush()
            self._end(last)

    def _tell(self) -> None:
        """Bring the views up to date: drawing a tree, a timeline and plots is dearer than adding words."""
        if self._selection.turn is self.turn:
            self._selection.refresh()
            self.waiting.emit(self._phase)
        self.grown.emit()

    def _end(self, end: TurnEnd) -> None:
        assert self.request is not None
        assert self.turn is not None
        self._pane.finished(self.request.message, end.finish_reason, message_stats(self.turn), end.text)
        if end.error:
            self.failed.emit(end.error, "")
        if end.warning:
            self.warned.emit(end.warning)
        self._close()

    def _failed(self, job: int, sentence: str, detail: str, cancelled: bool) -> None:
        if job != self._job or self.request is None or self.turn is None:
            return
        self._announce.flush()
        stats = message_stats(self.turn) | {"error": "" if cancelled else sentence}
        self._pane.finished(self.request.message, "cancelled" if cancelled else "error", stats)
        self._close()
        if not cancelled:
            self.failed.emit(sentence, detail)

    def _close(self) -> None:
        self._announce.cancel()
        turn, self.request, self._phase = self.turn, None, None
        self.waiting.emit(None)
        self.ended.emit(turn)

    def _done(self, job: int) -> None:
        if job == self._job:
            self._job = 0
