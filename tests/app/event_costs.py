"""What every event costs the main thread, by receiver and kind. A measuring tool: it slows the program a little."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

import shiboken6
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget


@dataclass
class Cost:
    """Of all events of one kind; milliseconds of own processor time without events inside, and the longest whole."""

    count: int = 0
    own: float = 0.0
    longest: float = 0.0
    wall: float = 0.0


@dataclass
class EventCosts:
    """Sums by (receiver, event), and the longest whole handlers."""

    costs: dict[tuple[str, str], Cost] = field(default_factory=lambda: defaultdict(Cost))
    longest: list[tuple[float, float, float, str, str]] = field(default_factory=list)  # cpu, wall, since start, …
    _inside: list[float] = field(default_factory=list)  # time of inner events, by depth
    _began: float = field(default_factory=time.perf_counter)

    def clear(self) -> None:
        """Begin again; events that are being delivered do not count."""
        self.costs.clear()
        self.longest.clear()
        self._inside.clear()
        self._began = time.perf_counter()

    def run(self, application: QApplication, receiver: QObject, event: QEvent) -> bool:
        """Deliver an event and keep what it took; those of other threads are only delivered."""
        if threading.current_thread() is not threading.main_thread():
            return bool(QApplication.notify(application, receiver, event))
        names = _name(receiver), event.type().name
        self._inside.append(0.0)
        at, wall, cpu = len(self._inside), time.perf_counter(), time.thread_time()
        handled = bool(QApplication.notify(application, receiver, event))
        spent, waited = 1000 * (time.thread_time() - cpu), 1000 * (time.perf_counter() - wall)
        del self._inside[at:]
        if len(self._inside) < at:  # cleared meanwhile
            return handled
        inner = self._inside.pop()
        if self._inside:
            self._inside[-1] += spent
        cost = self.costs[names]
        cost.count += 1
        cost.own += spent - inner
        cost.longest, cost.wall = max(cost.longest, spent), max(cost.wall, waited)
        if not self._inside and (spent > 4 or waited > 20):
            self.longest.append((spent, waited, 1000 * (wall - self._began), *names))
        return handled

    def table(self, rows: int = 30) -> str:
        """The dearest first; then the longest whole handlers in the order of time."""
        found = sorted(self.costs.items(), key=lambda item: -item[1].own)[:rows]
        lines = [f"{sum(c.own for c in self.costs.values()):.0f} ms in all;  own ms, count, longest cpu, longest wall"]
        for (receiver, event), cost in found:
            numbers = f"{cost.own:8.1f} {cost.count:6d} {cost.longest:7.1f} {cost.wall:7.1f}"
            lines.append(f"{numbers}  {receiver}  {event}")
        for spent, waited, since, receiver, event in self.longest:
            lines.append(f"at {since:7.0f} ms: {spent:6.1f} cpu {waited:6.1f} wall  {receiver}  {event}")
        return "\n".join(lines)


def _name(receiver: QObject) -> str:
    """Class of the receiver and of the nearest parents with a class of their own."""
    names, at = [], receiver
    while at is not None and len(names) < 3 and shiboken6.isValid(at):
        names.append(type(at).__name__)
        at = at.parent()
    title = receiver.accessibleName()[:20] if isinstance(receiver, QWidget) else receiver.objectName()
    return "<".join(names) + (f" “{title}”" if title else "")


def watched_application(costs: EventCosts) -> QApplication:
    """The application, every event counted."""

    class Watched(QApplication):
        def notify(self, receiver: QObject, event: QEvent) -> bool:
            return costs.run(self, receiver, event)

    return Watched(["eyrie"])
