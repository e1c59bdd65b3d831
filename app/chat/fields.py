"""Input fields for settings: one class per kind of value, all with a default and a Reset button."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox, QLineEdit, QPlainTextEdit, QPushButton, QSpinBox, QWidget

from engine import Range

EACH_TIME = "a new one for each reply"


class Field(QObject):
    """A widget for one value.

    Signals:
        edited: the value changed.

    Attributes:
        widget, reset_button: to be placed by the owner.
        default: what Reset goes back to.
        help: what the value does, and its range.
    """

    edited = Signal()

    def __init__(self, widget: QWidget, help_: str) -> None:
        super().__init__()
        self.widget = widget
        self.help = help_
        self.default: Any = None
        self.reset_button = QPushButton("↺")
        self.reset_button.setAutoDefault(False)
        self.reset_button.clicked.connect(self.reset)
        widget.installEventFilter(self)

    def value(self) -> Any:
        """The present value."""
        raise NotImplementedError

    def set_value(self, value: Any) -> None:
        """Show a value."""
        raise NotImplementedError

    def text_of(self, value: Any) -> str:
        """A value in words."""
        return f"{value:g}" if isinstance(value, int | float) else str(value)

    def changed(self) -> bool:
        """Whether the value is not the default."""
        return bool(self.value() != self.default)

    def reset(self) -> None:
        """Go back to the default."""
        self.set_value(self.default)
        self.edited.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The wheel scrolls the panel unless the field has the focus: values must not change by scrolling past."""
        if isinstance(event, QWheelEvent) and not self.widget.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)


class WholeField(Field):
    """A whole number."""

    def __init__(self, limits: Range) -> None:
        self.box = QSpinBox()
        super().__init__(self.box, f"{limits.help} {limits}.")
        self.box.setRange(int(limits.low), int(limits.high))
        self.box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.box.setKeyboardTracking(True)
        self.box.valueChanged.connect(self.edited)

    def value(self) -> int:
        """See `Field`."""
        return self.box.value()

    def set_value(self, value: Any) -> None:
        """See `Field`."""
        self.box.setValue(int(value))


class DecimalField(Field):
    """A number with decimals."""

    def __init__(self, limits: Range) -> None:
        self.box = QDoubleSpinBox()
        super().__init__(self.box, f"{limits.help} {limits}.")
        self.box.setDecimals(3)
        self.box.setRange(limits.low, limits.high)
        self.box.setSingleStep(0.05)
        self.box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.box.valueChanged.connect(self.edited)

    def value(self) -> float:
        """See `Field`."""
        return round(self.box.value(), 3)

    def set_value(self, value: Any) -> None:
        """See `Field`."""
        self.box.setValue(float(value))


class _WholeNumber(QValidator):
    """Any whole number of a range, larger than a spin box can hold."""

    def __init__(self, limits: Range, parent: QObject) -> None:
        super().__init__(parent)
        self._limits = limits

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        if not text:
            return QValidator.State.Intermediate, text, position
        good = text.isascii() and text.isdigit() and self._limits.low <= int(text) <= self._limits.high
        return (QValidator.State.Acceptable if good else QValidator.State.Invalid), text, position


class SeedField(Field):
    """A whole number of any size; None, an empty field, for a new one each time."""

    def __init__(self, limits: Range) -> None:
        self.line = QLineEdit()
        span = f"From {int(limits.low)} to {int(limits.high)}"
        super().__init__(self.line, f"{limits.help} {span}; empty: {EACH_TIME}, shown below the reply.")
        self.line.setValidator(_WholeNumber(limits, self))
        self.line.setPlaceholderText("random")
        self.line.textChanged.connect(self.edited)

    def value(self) -> int | None:
        """See `Field`."""
        text = self.line.text()
        return int(text) if text else None

    def set_value(self, value: Any) -> None:
        """See `Field`."""
        self.line.setText("" if value is None else str(int(value)))

    def text_of(self, value: Any) -> str:
        """See `Field`."""
        return EACH_TIME if value is None else str(value)


class StopField(Field):
    """Strings, one per line; backslash-n, -t and -backslash are written as such."""

    def __init__(self, help_: str) -> None:
        self.edit = QPlainTextEdit()
        super().__init__(self.edit, help_)
        self.edit.setTabChangesFocus(True)
        self.edit.setFixedHeight(54)
        self.edit.textChanged.connect(self.edited)

    def value(self) -> list[str]:
        """See `Field`."""
        return [unescape(line) for line in self.edit.toPlainText().split("\n") if line]

    def set_value(self, value: Any) -> None:
        """See `Field`."""
        self.edit.setPlainText("\n".join(escape(item) for item in value))

    def text_of(self, value: Any) -> str:
        """See `Field`."""
        return ", ".join(map(escape, value)) or "none"


def escape(text: str) -> str:
    """One line for a string."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def unescape(line: str) -> str:
    """Inverse of `escape`; a backslash before anything else stays."""
    out, rest = "", line
    while rest:
        pair = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}.get(rest[:2])
        out, rest = (out + pair, rest[2:]) if pair else (out + rest[0], rest[1:])
    return out
