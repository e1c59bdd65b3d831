"""Rows of the chat list: a chat, or a place where searched words were found. Knows no store."""

from __future__ import annotations

import time
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidgetItem

from app.chat.chat_delegate import HIT, RUNNING, SECOND
from app.store import Chat, Hit

CHAT, MESSAGE = Qt.ItemDataRole.UserRole + 10, Qt.ItemDataRole.UserRole + 11

Told = tuple[str, float, str, int]


def chat_row(chat: int, running: int) -> QListWidgetItem:
    """The row of a chat, to be told what it says; `running` is the chat whose reply is being made."""
    row = QListWidgetItem()
    row.setFlags(row.flags() | Qt.ItemFlag.ItemIsEditable)
    row.setData(CHAT, chat)
    mark_running(row, chat == running)
    return row


def told(chat: Chat) -> Told:
    """What a row is written from: it says the same as long as this is the same."""
    return chat.name, chat.updated, chat.model, time.localtime().tm_yday


def tell_chat(row: QListWidgetItem, chat: Chat) -> None:
    """Write a row."""
    row.setText(chat.name)
    row.setData(SECOND, ago(chat.updated) + (f" · {chat.model}" if chat.model else ""))
    row.setToolTip(f"<span>{escape(chat.name)}</span>")  # in which nothing is taken for HTML


def mark_running(row: QListWidgetItem, running: bool) -> None:
    """Whether a reply is being made in this chat."""
    row.setData(RUNNING, running)


def hit_row(hit: Hit) -> QListWidgetItem:
    """A message, or a title (message 0), that holds the words."""
    row = QListWidgetItem(hit.title or "New chat")
    row.setData(CHAT, hit.chat)
    row.setData(MESSAGE, hit.message)
    row.setData(SECOND, hit.excerpt if hit.message else "title")
    row.setData(HIT, (hit.start, hit.length) if hit.message else None)
    row.setData(Qt.ItemDataRole.AccessibleTextRole, f"{hit.title}: {hit.excerpt}")
    return row


def is_hit(row: QListWidgetItem) -> bool:
    """Whether a row is a search hit."""
    return row.data(MESSAGE) is not None


def ago(moment: float, now: float | None = None) -> str:
    """A time as a person says it: "14:05", "yesterday", "3 May", "3 May 2024"."""
    now = time.time() if now is None else now
    then, today = time.localtime(moment), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M", then)
    if then[:3] == time.localtime(now - 86400)[:3]:
        return "yesterday"
    day = f"{then.tm_mday} {time.strftime('%b', then)}"
    return day if then.tm_year == today.tm_year else f"{day} {then.tm_year}"
