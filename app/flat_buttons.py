"""How rows of tool buttons look: flat, filled under the mouse and while they are switched on.

Which of them has the focus is told by `focus_ring.py`, if they are `autoRaise`: a frame would look like
those that are switched on.
"""

from __future__ import annotations

from app.theme import Theme


def flat_buttons(colors: Theme, padding: str) -> str:
    """A style sheet for the widget that holds the buttons. `padding`: around the words, as in CSS."""
    c = {role: colors.color(role).name() for role in ("accent", "accent_soft", "hover", "muted", "text")}
    return (
        f"QToolButton {{ border: 1px solid transparent; border-radius: 4px; padding: {padding};"
        f" color: {c['text']}; background: transparent; }}"
        f"QToolButton:hover {{ background: {c['hover']}; }}"
        f"QToolButton:checked {{ background: {c['accent_soft']}; border-color: {c['accent']}; }}"
        f"QToolButton:disabled {{ color: {c['muted']}; }}"
        "QToolButton::menu-indicator { image: none; }"
    )
