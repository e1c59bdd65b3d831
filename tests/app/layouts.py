"""How often a widget is laid out anew."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget


class Layouts(QObject):
    """Counts how often a widget was laid out anew."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False
