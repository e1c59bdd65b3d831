"""Conversations on disk. No Qt, and of the engine only its reader of large JSON: plain values, from any thread."""

from app.store.errors import BusyDatabaseError, NewerDatabaseError, StoreError
from app.store.records import ROLES, Chat, Hit, Message
from app.store.store import Store, data_folder, open_store

__all__ = [
    "ROLES",
    "BusyDatabaseError",
    "Chat",
    "Hit",
    "Message",
    "NewerDatabaseError",
    "Store",
    "StoreError",
    "data_folder",
    "open_store",
]
