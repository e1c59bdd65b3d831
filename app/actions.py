"""Every command of the window as data: name, keys, menu. Menus, toolbar and the shortcut sheet are made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget


@dataclass(frozen=True, slots=True)
class Command:
    """One command; `name` is how code finds it."""

    name: str
    text: str
    keys: str = ""  # "" none
    tip: str = ""
    checkable: bool = False
    elsewhere: bool = False  # the keys are handled by the widget that has the focus: shown, not registered


SEPARATOR = Command("", "")
SUBMENU = "▸"  # a text that ends so is a submenu, filled by its owner

MENUS: dict[str, tuple[Command, ...]] = {
    "&File": (
        Command("new_chat", "&New chat", "Ctrl+N"),
        Command("open_trace", "&Open a recorded run…", "Ctrl+O", "A trace file, also by dropping it on the window"),
        Command("recordings", f"&Recorded runs {SUBMENU}"),
        SEPARATOR,
        Command("import_chat", "&Import a conversation…"),
        Command("export_md", "Export the conversation as &Markdown…", "Ctrl+Shift+M"),
        Command("export_json", "Export the conversation as &JSON…"),
        SEPARATOR,
        Command("tree_png", "Save the tree as &PNG…", "Ctrl+Shift+E"),
        Command("tree_svg", "Save the tree as &SVG…", "Ctrl+Alt+E"),
        Command("save_trace", "Save the &trace as JSON…", "Ctrl+S", "All rounds of the shown reply, to open again"),
        Command("save_rounds", "Save the rounds as &CSV…"),
        Command("records", f"&Keep records of replies {SUBMENU}"),
        SEPARATOR,
        Command("quit", "&Quit", "Ctrl+Q"),
    ),
    "&Edit": (
        Command("find", "&Find in this chat…", "Ctrl+F", elsewhere=True),
        Command("search_chats", "&Search all chats…", "Ctrl+K"),
        SEPARATOR,
        Command("regenerate", "&Regenerate the last reply", "Ctrl+R", elsewhere=True),
        Command("edit_prompt", "&Edit the last prompt", "Ctrl+E", elsewhere=True),
        Command("stop", "S&top", "Ctrl+.", "Stop what the engine is doing"),
    ),
    "&View": (
        Command("show_chats", "&Chats", "Ctrl+1", checkable=True),
        Command("show_chat_settings", "System prompt and &sampling", "Ctrl+2", checkable=True),
        Command("show_tree", "&Tree and timeline", "Ctrl+3", checkable=True),
        Command("show_plots", "&Plots", "Ctrl+4", checkable=True),
        Command("show_sliders", "Sl&iders", "Ctrl+5", checkable=True),
        SEPARATOR,
        Command("provenance", "&Underline tokens by origin", "Ctrl+U", checkable=True),
        SEPARATOR,
        Command("larger", "&Larger text", "Ctrl++", elsewhere=True),
        Command("smaller", "S&maller text", "Ctrl+-", elsewhere=True),
        Command("normal", "&Normal text size", "Ctrl+0", elsewhere=True),
        Command("theme", f"C&olours {SUBMENU}"),
        SEPARATOR,
        Command("full_screen", "&Full screen", "F11", checkable=True),
    ),
    "&Model": (
        Command("get_model", "&Get the model"),
        Command("open_folder", "&Open a model folder…"),
        Command("open_gguf", "Open a GGU&F file…", tip="Converted once, then kept"),
        Command("installed", f"&Installed models {SUBMENU}"),
        SEPARATOR,
        Command("cancel_model", "&Cancel loading"),
    ),
    "&Round": (
        Command("live", "&Live", "Ctrl+L", "Follow the newest round", checkable=True),
        Command("hold", "&Hold", "Ctrl+H", "Hold the view; the engine goes on", checkable=True),
        Command("play", "&Play", "F5", "Walk through the rounds in slow motion", checkable=True),
        SEPARATOR,
        Command("step", "&Next step", "F10", "In the tree: Space"),
        Command("step_back", "Step &back", "F9", "In the tree: Shift+Space"),
        Command("previous", "Pre&vious round", "Alt+Left", "In the tree and the timeline: ,"),
        Command("next", "Ne&xt round", "Alt+Right", "In the tree and the timeline: ."),
        SEPARATOR,
        Command(
            "step_engine", "Step the &engine", "Ctrl+Shift+P", "The engine waits before each phase", checkable=True
        ),
        Command("engine_round", "Engine: to the end of the &round", "Ctrl+F10"),
        Command("pace", f"Pa&ce {SUBMENU}"),
    ),
    "&Help": (
        Command("welcome", "&Welcome page"),
        Command("shortcuts", "&Keyboard shortcuts", "F1", "Also: ?"),
        SEPARATOR,
        Command("log", "Open the &log folder"),
        Command("about", "&About Eyrie"),
    ),
}
# Keys of parts of the window, for the sheet.
OTHER_KEYS: dict[str, tuple[tuple[str, str], ...]] = {
    "Everywhere": (
        ("?", "this sheet, where nothing is written"),
        ("Tab, Shift+Tab", "to the next, previous control"),
        ("Arrow keys", "on a border: move it"),
    ),
    "Writing": (
        ("Enter", "send"),
        ("Shift+Enter", "new line"),
        ("Up in an empty field", "edit the last prompt"),
        ("Esc", "stop the reply"),
    ),
    "Messages": (
        ("Alt+Up, Alt+Down", "to the message above, below"),
        ("Left, Right", "previous, next version"),
        ("C", "copy"),
        ("E", "edit a prompt"),
        ("R", "regenerate a reply"),
        ("Home, End", "to the beginning; to the end, and follow it"),
    ),
    "Finding": (("Enter, Shift+Enter", "next, previous hit"), ("Esc", "close the search")),
    "Tree and timeline": (
        ("Space, Shift+Space", "next step, step back"),
        (",  .", "previous, next round"),
        ("F", "fit the tree into its view"),
        ("Esc", "back to the newest round"),
        ("Arrow keys", "walk from node to node, from round to round"),
        ("Home, End", "first, last"),
        ("Page Up, Page Down", "ten rounds"),
        ("Enter", "pin the node"),
        ("+  -", "zoom"),
        ("Ctrl+wheel", "zoom"),
        ("Ctrl+C", "in the table: copy the row"),
    ),
    "Chat list": (
        ("F2", "rename"),
        ("Del", "delete, with undo"),
        ("Ctrl+Z", "undo deleting"),
        ("Menu, Shift+F10", "what else can be done"),
        ("Down, Enter, Esc", "in the search: to what was found; empty it"),
    ),
}


class Actions:
    """One QAction per command, and the submenus."""

    def __init__(self, owner: QWidget, menu_bar: QMenuBar) -> None:
        self._actions: dict[str, QAction] = {}
        self.submenus: dict[str, QMenu] = {}
        for title, commands in MENUS.items():
            menu = menu_bar.addMenu(title)
            menu.setToolTipsVisible(True)
            for command in commands:
                self._add(owner, menu, command)

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def names(self) -> list[str]:
        """All commands that can be triggered."""
        return list(self._actions)

    def on(self, name: str, call: Callable[..., object]) -> None:
        """What a command does."""
        self._actions[name].triggered.connect(call)

    def set_checked(self, name: str, checked: bool) -> None:
        """Show a state without triggering it."""
        action = self._actions[name]
        blocked = action.blockSignals(True)
        action.setChecked(checked)
        action.blockSignals(blocked)

    def _add(self, owner: QWidget, menu: QMenu, command: Command) -> None:
        if command is SEPARATOR:
            menu.addSeparator()
            return
        if command.text.endswith(SUBMENU):
            submenu = self.submenus[command.name] = QMenu(command.text.removesuffix(SUBMENU).strip(), menu)
            menu.addMenu(submenu)
            return
        text = f"{command.text}\t{command.keys}" if command.elsewhere else command.text
        action = QAction(text, owner)
        action.setObjectName(command.name)
        action.setCheckable(command.checkable)
        plain = command.text.replace("&", "").rstrip("…")
        keys = f" ({command.keys})" if command.keys else ""
        action.setToolTip(f"{plain}{keys}" + (f"\n{command.tip}" if command.tip else ""))
        if command.keys and not command.elsewhere:
            action.setShortcut(QKeySequence(command.keys))
        menu.addAction(action)
        self._actions[command.name] = action


def shortcut_lines() -> dict[str, list[tuple[str, str]]]:
    """Title → (keys, what they do), for the sheet."""
    lines = {
        title.replace("&", ""): [(c.keys, c.text.replace("&", "").rstrip("…")) for c in commands if c.keys]
        for title, commands in MENUS.items()
    }
    return {**{k: v for k, v in lines.items() if v}, **{k: list(v) for k, v in OTHER_KEYS.items()}}


def choice(menu: QMenu, text: str, call: Callable[[], object]) -> QAction:
    """A new entry that can be checked, with a key letter. Made here, not by the menu: PySide may take what Qt made, and
    is kept in Python, for gone while it is there."""
    action = QAction(_keyed(text, menu), menu)
    action.setCheckable(True)
    action.triggered.connect(call)
    menu.addAction(action)
    return action


def _keyed(text: str, menu: QMenu) -> str:
    """The text with "&" before the first digit, else letter, that no entry of the menu has as its key."""
    taken = {action.text().partition("&")[2][:1].lower() for action in menu.actions()}
    free = [at for at, sign in enumerate(text) if sign.isalnum() and sign.lower() not in taken]
    at = min(free, key=lambda place: (not text[place].isdigit(), place), default=len(text))
    return f"{text[:at]}&{text[at:]}" if at < len(text) else text
