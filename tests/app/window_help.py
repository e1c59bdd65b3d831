"""What a person does with the whole window, for its tests."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import (
    QFileDialog,
)


def send(window, text="Tell me a story"):
    """Type and send."""
    window.panels.pane.composer.set_text(text)
    window.panels.pane.composer.send()


def ended(window):
    """Whether nothing runs."""
    return not window.turns.running and not window.link.busy


def shown_texts(window):
    """What the conversation holds."""
    store = window.store
    return [m.content for m in store.messages.path(window.panels.pane.chat)]


def answer(monkeypatch, kind, path):
    """The next file dialog returns this."""
    monkeypatch.setattr(QFileDialog, kind, lambda *args, **kw: (str(path), ""))


def drop(window, path):
    """Drop a file on the window."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPoint(600, 300), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)
