"""A bounded queue from the engine's thread to the window's. Knows nothing of Qt or of what it carries.

The producer waits while the queue is full, so nothing is dropped and memory stays bounded however slow the window is.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class RecordQueue(Generic[T]):
    """First in, first out; `put` from one thread, `drain` from another."""

    def __init__(self, capacity: int = 256) -> None:
        self.capacity = capacity
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)

    @property
    def closed(self) -> bool:
        """Whether nobody reads any more."""
        return self._closed

    def put(self, item: T) -> bool:
        """Append, waiting while the queue is full; False when it was closed and the item is gone."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self.capacity)
            if self._closed:
                return False
            self._items.append(item)
            return True

    def drain(self, limit: int | None = None) -> list[T]:
        """Take up to `limit` items (all when None), oldest first; never waits."""
        with self._changed:
            count = len(self._items) if limit is None else min(limit, len(self._items))
            taken = [self._items.popleft() for _ in range(count)]
            if taken:
                self._changed.notify_all()
            return taken

    def close(self) -> None:
        """Stop: a waiting `put` returns False, later ones too. What is inside can still be drained."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
