"""What happens when a link in a message is clicked: its target is shown first, and only then opened."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from app.chat.markdown import safe_url


def ask(parent: QWidget, url: QUrl) -> QMessageBox | None:
    """Show where the link goes; opens on Open, copies on Copy. None when the link may not be opened at all."""
    target = safe_url(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
    if not target:
        return None
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("Open link")
    box.setIcon(QMessageBox.Icon.Question)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText("The model wrote this link. Open it in your browser?")
    shown = target if len(target) <= 300 else target[:300] + "…"
    box.setInformativeText("\u200b".join(shown[i : i + 60] for i in range(0, len(shown), 60)))
    open_button = box.addButton("Open", QMessageBox.ButtonRole.AcceptRole)
    copy_button = box.addButton("Copy address", QMessageBox.ButtonRole.ActionRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)

    def act(button: object) -> None:
        if button is open_button:
            QDesktopServices.openUrl(QUrl(target))
        elif button is copy_button:
            QGuiApplication.clipboard().setText(target)

    box.buttonClicked.connect(act)
    box.open()
    return box
