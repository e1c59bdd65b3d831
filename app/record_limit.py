"""The menu that says how much room the records of replies may take; the oldest leave first. Knows no record."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QActionGroup

from app.actions import choice
from app.store import StoreError

if TYPE_CHECKING:
    from app.main_window import MainWindow

MB = 2**20
LIMITS = {0: "None", 50 * MB: "Up to 50 MB", 200 * MB: "Up to 200 MB", 1024 * MB: "Up to 1 GB", 4096 * MB: "Up to 4 GB"}
KEY = "records"


class RecordLimit(QObject):
    """A choice that would cost records is only made when a second, written one is."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._tasks, self._writer, self._messages = window.tasks, window.writer, window.panels.messages
        self._traces = window.store.traces
        menu, group = window.actions_.submenus["records"], QActionGroup(self)
        self.choices = {}
        for limit, text in LIMITS.items():
            self.choices[limit] = choice(menu, text, partial(self.choose, limit))
            group.addAction(self.choices[limit])
        menu.aboutToShow.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Mark the limit in force."""
        try:
            limit = self._traces.limit
        except StoreError:
            return
        for value, action in self.choices.items():
            action.setChecked(value == limit)

    def choose(self, limit: int) -> None:
        """Keep records up to `limit` bytes; where that would drop some, say so first."""
        self._messages.dismiss(KEY)
        self._tasks.run(self._traces.total, "looking at the records", partial(self._ask, limit))

    def _ask(self, limit: int, total: int) -> None:
        self.refresh()  # the choice is not made yet
        if total <= limit:
            self._set(limit)
            return
        which = "the oldest of them" if limit else "all of them"
        self._messages.show_message(
            f"The records of replies take {total / MB:.1f} MB now: {which} would be removed for good. "
            "The conversations stay.",
            "warning",
            actions=[("Remove them", partial(self._set, limit))],
            key=KEY,
        )

    def _set(self, limit: int) -> None:
        self._writer.post(partial(self._traces.set_limit, limit), "changing a setting", partial(self._done, limit))

    def _done(self, limit: int, _: object) -> None:
        self.refresh()
        words = f"Records of replies are kept {LIMITS[limit][0].lower()}{LIMITS[limit][1:]}; then the oldest leave."
        self._messages.show_message(words if limit else "No records of replies are kept from now on.", key=KEY)
