"""How a conversation takes another look: in steps, since each message on the screen costs some milliseconds.

Knows no message: whatever stands in the column is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from shiboken6 import isValid

from app.chat import look
from app.chat.flow import Flow
from app.chat.overlay import Overlay
from app.theme import theme


@runtime_checkable
class Styled(Protocol):
    """A widget that does not take all of the look by itself."""

    def restyle(self) -> Iterator[None]:
        """Take the theme's colours and size, a step for each `next`."""


def set_sheet(flow: Flow) -> None:
    """Give the column its style. Also where the sheet is the same: fonts of another size come with it."""
    colors = theme()
    back = f"QScrollArea {{ background: {colors.color('surface').name()}; }}"
    flow.setStyleSheet(f"{back} {look.conversation(colors)}")


def restyle(flow: Flow, overlay: Overlay) -> Iterator[None]:
    """Take the theme's colours and size; what is out of view is made anew when it comes near."""
    flow.drop_unseen()
    yield
    set_sheet(flow)
    yield
    for widget in flow.widgets():
        steps = widget.restyle() if isinstance(widget, Styled) else iter(())
        while isValid(widget) and next(steps, steps) is not steps:
            yield
    yield
    overlay.restyle()
    flow.remeasure()
