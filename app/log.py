"""The log file, and how an unexpected error becomes one sentence. Knows no window."""

from __future__ import annotations

import logging
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path

from app.store import StoreError, data_folder
from engine import EyrieError

logger = logging.getLogger("eyrie")


def log_path() -> Path:
    """Where the log file lies; the folder may not exist yet."""
    return data_folder() / "eyrie.log"


def start_log() -> None:
    """Write warnings and errors to the log file; without a writable folder they are only not kept."""
    path = log_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=1_000_000, backupCount=1, encoding="utf-8", delay=True)
    except OSError:
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(message)s"))
    logger.addHandler(handler)


def stop_log() -> None:
    """Close the log file."""
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()


def unexpected(error: BaseException, doing: str) -> tuple[str, str]:
    """Log an error nobody foresaw; return (one sentence for the user, the traceback)."""
    detail = "".join(traceback.format_exception(error))
    logger.error("%s: %s", doing, detail)
    return f"Something unexpected went wrong while {doing} ({type(error).__name__}: {error}).", detail


def explained(error: Exception, doing: str) -> tuple[str, str]:
    """(One sentence for the user, the traceback or "" where the sentence says it all)."""
    return (str(error), "") if isinstance(error, EyrieError | StoreError) else unexpected(error, doing)
