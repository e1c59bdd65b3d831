"""The parts of the window and how they are put together: chats, conversation, tree, plots, sliders, status.

Builds and arranges; links nothing.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.chat.chat_list import ChatList
from app.chat.pane import ChatPane
from app.engine_settings import EngineSettings
from app.message_bar import MessageBar
from app.plots.lazy import LazyPlots
from app.recording_view import RecordingView
from app.selection import Selection
from app.settings_bar import SettingsBar
from app.splitter import Splitter
from app.status import StatusLine
from app.store import Store
from app.tall_area import TallArea
from app.theme import theme
from app.tree.panel import TreePanel
from app.welcome import WelcomePage
from app.writer import Writer

LEFT, MIDDLE = 190, 420  # widths at 1280 pixels; the right side has what is left
CHATS_WIDTH, SETTINGS_WIDTH = 160, 316  # at least
FIXED = 80  # pixels of the latter that do not grow with the text: margins, and the scroll bar
PLOTS = 172  # height where there is little
LOW = 690  # height below which the sliders keep to one row


class Panels(QWidget):
    """The window's content.

    Signals:
        visibility_changed(str, bool): a part was shown or hidden.
    """

    visibility_changed = Signal(str, object)

    def __init__(
        self, store: Store, writer: Writer, selection: Selection, settings: EngineSettings, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.messages = MessageBar()
        self.chats = ChatList(store, writer)
        self.pane = ChatPane(store, writer, selection)
        self.welcome = WelcomePage()
        self.recording = RecordingView(selection)
        self.tree = TreePanel(selection)
        self.plots = LazyPlots(selection)
        self.sliders = SettingsBar(settings)
        self.status = StatusLine()
        self.chat_settings = QScrollArea(widgetResizable=True)
        self.chat_settings.setFrameShape(QScrollArea.Shape.NoFrame)
        self.chat_settings.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.chat_settings.setWidget(self.pane.settings)
        self.chat_settings.setAccessibleName("System prompt and sampling")
        self.middle = QStackedWidget()
        for page in (self.pane, self.welcome, self.recording):
            self.middle.addWidget(page)
        self.parts: dict[str, QWidget] = {
            "show_chats": self.chats,
            "show_chat_settings": self.chat_settings,
            "show_tree": self.tree,
            "show_plots": self.plots,
            "show_sliders": self.sliders,
        }
        self._arrange()
        self.set_shown("show_chat_settings", False)
        theme().changed.connect(self._fit_left)

    def set_shown(self, name: str, shown: bool) -> None:
        """Show or hide a part; a side with nothing in it goes too."""
        self.parts[name].setVisible(shown)
        self.left.setVisible(self.is_shown("show_chats") or self.is_shown("show_chat_settings"))
        self._fit_left()
        self.right_area.setVisible(self.is_shown("show_tree") or self.is_shown("show_plots"))
        self.visibility_changed.emit(name, shown)

    def is_shown(self, name: str) -> bool:
        """Whether a part is shown, as far as it is up to the part."""
        return not self.parts[name].isHidden()

    def show_page(self, page: QWidget) -> None:
        """Put a page into the middle."""
        self.middle.setCurrentWidget(page)

    @property
    def page(self) -> QWidget:
        """The page in the middle."""
        return self.middle.currentWidget()

    @property
    def splitters(self) -> dict[str, QSplitter]:
        """By name, for saving."""
        inner = {"tree_across": self.tree.across, "tree_side": self.tree.side, "tree_down": self.tree.down}
        return {"across": self.across, "left": self.left, "right": self.right, **inner}

    def default_sizes(self, width: int, height: int) -> None:
        """Sensible sizes for a window of this size."""
        left = min(LEFT + max(0, width - 1280) // 8, 280)
        rest = max(width - left, 600)
        middle = max(MIDDLE, round(rest * 0.42))
        self.across.setSizes([left, middle, rest - middle])
        self.left.setSizes([height // 2, height // 2])
        plots = PLOTS if height < 900 else round(height * 0.24)
        self.right.setSizes([height - plots, plots])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The tree needs a low window more than the sliders do."""
        super().resizeEvent(event)
        self.sliders.set_low(self.height() < theme().pixels(LOW))

    def _fit_left(self) -> None:
        """Nothing on the left is cut, however large the text."""
        settings = theme().pixels(SETTINGS_WIDTH - FIXED) + FIXED
        self.chat_settings.setMinimumWidth(settings)
        self.left.setMinimumWidth(settings if self.is_shown("show_chat_settings") else theme().pixels(CHATS_WIDTH))

    def _arrange(self) -> None:
        self.left = Splitter(Qt.Orientation.Vertical)
        self.right = Splitter(Qt.Orientation.Vertical)
        self.right_area = TallArea(self.right, "Draft tree and plots")
        self.across = Splitter(Qt.Orientation.Horizontal)
        for splitter, widgets in (
            (self.left, (self.chats, self.chat_settings)),
            (self.right, (self.tree, self.plots)),
            (self.across, (self.left, self.middle, self.right_area)),
        ):
            splitter.setChildrenCollapsible(False)
            for widget in widgets:
                splitter.addWidget(widget)
        self.left.name_borders("chats", "chat settings")
        self.right.name_borders("draft tree", "plots")
        self.across.name_borders("chats", "conversation", "draft tree")
        self.middle.setMinimumWidth(300)
        self.right.setMinimumWidth(280)
        self.across.setStretchFactor(0, 0)
        self.across.setStretchFactor(1, 1)
        self.across.setStretchFactor(2, 2)
        self.right.setStretchFactor(0, 3)
        self.right.setStretchFactor(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.messages)
        layout.addWidget(self.across, 1)
        layout.addWidget(self.sliders)
        layout.addWidget(self.status)
