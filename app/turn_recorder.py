"""Keeps a running reply in the store: its text at every round end, its numbers and its trace when it is over.

Called in the engine's thread. Knows the store and the records; no Qt.
"""

from __future__ import annotations

import time

from app.chat.stats import message_stats
from app.naps import Naps
from app.store import Store
from engine import Event, Prefill, Round, Turn, TurnEnd, trace_to_json

SAVE_SECONDS = 1.0  # between two times that the database gets the text; the file of the running reply gets every round


class TurnRecorder:
    """One reply. A kill at any moment loses at most the round in flight."""

    def __init__(self, store: Store, message: int) -> None:
        self._store = store
        self._message = message
        self._turn = Turn()
        self._text = ""
        self._running = store.running_text(message)
        self._saved = time.monotonic()

    def add(self, event: Event) -> None:
        """Keep what is new; the end is kept before the window hears of it."""
        self._turn.add(event)
        if isinstance(event, Prefill | Round):
            self._text += event.text
            if event.text:
                self._keep(event.text)
        elif isinstance(event, TurnEnd):
            self._store.messages.finish(self._message, event.text, event.finish_reason, message_stats(self._turn))
            self._running.remove()

    def close(self, error: str, cancelled: bool) -> None:
        """Keep why it did not end, or the trace when it did."""
        if self._turn.end is None:
            reason = "cancelled" if cancelled else "error"
            stats = message_stats(self._turn) | {"error": "" if cancelled else error}
            self._store.messages.finish(self._message, self._text, reason, stats)
            self._running.remove()
        elif self._turn.rounds:
            self._store.traces.save(self._message, trace_to_json(self._turn, Naps()))

    def _keep(self, text: str) -> None:
        self._running.add(text)
        now = time.monotonic()
        if now - self._saved >= SAVE_SECONDS:
            self._saved = now
            self._store.messages.save_progress(self._message, self._text)
