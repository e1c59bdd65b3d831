"""What the commands of the menus do, but those of View (`app/view_menu.py`). Words and keys are in `app/actions.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app.welcome import trace_title

if TYPE_CHECKING:
    from app.main_window import MainWindow


def connect_commands(window: MainWindow) -> None:
    """Give every command of the window something to do."""
    for name, call in {**_file(window), **_chat(window), **_model(window), **_round(window)}.items():
        window.actions_.on(name, call)


def fill_recordings(window: MainWindow, traces: list[Path]) -> None:
    """The menu of recorded runs."""
    menu = window.actions_.submenus["recordings"]
    for path in traces:
        menu.addAction(trace_title(path), partial(window.files.open_trace, path, trace_title(path)))
    menu.setEnabled(bool(traces))


def _file(window: MainWindow) -> dict[str, Callable[..., object]]:
    f, pane = window.files, window.panels.pane
    return {
        "new_chat": window.pages.new_chat,
        "open_trace": f.ask_trace,
        "import_chat": f.ask_import,
        "export_md": lambda: f.export_chat(pane.chat, "md"),
        "export_json": lambda: f.export_chat(pane.chat, "json"),
        "tree_png": lambda: f.save_tree("png"),
        "tree_svg": lambda: f.save_tree("svg"),
        "save_trace": f.save_trace,
        "save_rounds": f.save_rounds,
        "quit": window.close,
        "welcome": window.pages.show_welcome,
        "shortcuts": window.show_shortcuts,
    }


def _chat(window: MainWindow) -> dict[str, Callable[..., object]]:
    view = window.panels.pane.view

    def stop() -> None:
        window.turns.stop()
        window.models.cancel()

    return {
        "find": window.pages.find,
        "search_chats": window.pages.search_chats,
        "regenerate": view.regenerate_last,
        "edit_prompt": view.edit_last_prompt,
        "stop": stop,
    }


def _model(window: MainWindow) -> dict[str, Callable[..., object]]:
    def get() -> None:
        window.models.get()

    return {
        "get_model": get,
        "open_folder": window.files.ask_folder,
        "open_gguf": window.files.ask_gguf,
        "cancel_model": window.models.cancel,
    }


def _round(window: MainWindow) -> dict[str, Callable[..., object]]:
    live, tree, selection = window.live, window.panels.tree, window.selection
    return {
        "live": live.go_live,
        "hold": live.hold,
        "play": live.toggle_play,
        "step": tree.next_step,
        "step_back": tree.previous_step,
        "previous": lambda: selection.step(-1),
        "next": lambda: selection.step(1),
        "step_engine": live.step_engine,
        "engine_round": live.finish_round,
    }
