"""Where everything stood when the window closed, kept in the store's settings. Knows names and bytes, no meaning."""

from __future__ import annotations

import base64
from typing import Any

from PySide6.QtWidgets import QMainWindow, QSplitter

from app.store import Store, StoreError

KEY = "window.layout"


def saved_layout(store: Store) -> dict[str, Any]:
    """What was saved; {} when nothing was, or it cannot be read."""
    try:
        found = store.settings.get(KEY, {})
    except StoreError:
        return {}
    return found if isinstance(found, dict) else {}


def save_layout(store: Store, layout: dict[str, Any]) -> None:
    """Keep it. Raises `StoreError`."""
    store.settings.set(KEY, layout)


def splitter_state(splitter: QSplitter) -> str:
    """Sizes as text."""
    return base64.b64encode(splitter.saveState().data()).decode()


def restore_splitter(splitter: QSplitter, text: Any) -> bool:
    """Give the sizes back; False when they are not usable."""
    data = _decode(text)
    return bool(data) and splitter.restoreState(data)


def geometry(window: QMainWindow) -> str:
    """Place and size as text."""
    return base64.b64encode(window.saveGeometry().data()).decode()


def restore_geometry(window: QMainWindow, text: Any) -> bool:
    """Give place and size back; Qt keeps them on a screen that is there."""
    data = _decode(text)
    return bool(data) and window.restoreGeometry(data)


def _decode(text: Any) -> bytes:
    if not isinstance(text, str):
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
