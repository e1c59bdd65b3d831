"""Style sheets, and the labels they speak of, that several chat widgets share."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from app.theme import RADIUS, Theme


def small_button(colors: Theme, border: bool = False) -> str:
    """Quiet buttons inside a message: words, a frame on hover and focus."""
    line = colors.color("line").name() if border else "transparent"
    return (
        f"QPushButton {{ background: transparent; color: {colors.color('muted').name()}; border: 1px solid {line};"
        f" border-radius: {RADIUS - 2}px; padding: 2px 7px; }}"
        f"QPushButton:hover {{ background: {colors.color('hover').name()}; color: {colors.color('text').name()}; }}"
        f"QPushButton:pressed {{ background: {colors.color('line').name()}; }}"
        f"QPushButton:focus {{ border-color: {colors.color('accent').name()}; color: {colors.color('text').name()}; }}"
        f"QPushButton:disabled {{ color: {colors.color('line').name()}; }}"
    )


def conversation(colors: Theme) -> str:
    """Everything inside the conversation's column, by object names and properties: one sheet, because a sheet on every
    message makes opening a chat several times slower."""
    color = {name: colors.color(name).name() for name in ("surface", "accent_soft", "accent", "muted", "code", "line")}
    return (
        f"#canvas {{ background: {color['surface']}; }}"
        f"#message {{ background: transparent; border: 1px solid transparent; border-radius: {RADIUS}px; }}"
        f'#message[user="true"] {{ background: {color["accent_soft"]}; }}'
        f"#message:focus {{ border-color: {color['accent']}; }}"
        f'QLabel[muted="true"] {{ color: {color["muted"]}; }}'
        f"#codeBlock {{ background: {color['code']}; border: 1px solid {color['line']}; border-radius: {RADIUS}px; }}"
        f"{small_button(colors)} #codeBlock QPushButton {{ border-color: {color['line']}; }}"
        f"#codeBlock QPushButton:focus {{ border-color: {color['accent']}; }}"
    )


def main_button(colors: Theme) -> str:
    """The one main button of a place."""
    return (
        f"QPushButton {{ background: {colors.color('accent').name()}; color: {colors.color('on_accent').name()};"
        f" border: 2px solid transparent; border-radius: {RADIUS}px; padding: 5px 16px; font-weight: bold; }}"
        f"QPushButton:focus {{ border-color: {colors.color('text').name()}; }}"
        f"QPushButton:disabled {{ background: {colors.color('raised').name()};"
        f" color: {colors.color('muted').name()}; }}"
    )


def muted() -> QLabel:
    """A label of second rank; the property must be there before the style looks at the label."""
    label = QLabel()
    label.setProperty("muted", True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
