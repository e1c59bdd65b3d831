"""Turns a conversation into tokens, and every round into a record. No Qt.

Front ends import from here and from nowhere deeper. What reads, makes or runs models is loaded when it is first used: a
window must be on the screen before that.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.config import (
    CHAT_KEYS,
    CHAT_SAMPLING,
    CHOICES,
    RANGES,
    Choice,
    EngineConfig,
    Range,
    SamplingConfig,
    prompt_room,
    tree_pool,
    verified_nodes,
)
from engine.errors import (
    Cancelled,
    CheckpointError,
    ConfigError,
    ContextFull,
    DownloadError,
    EyrieError,
    ModelFileError,
    ModelFolderError,
    RuntimeUnavailable,
    TraceError,
)
from engine.json_pieces import loads_in_pieces
from engine.progress import Progress, ProgressCallback, ignore
from engine.strategies import canonical_name, strategies  # not later: the package has the same name
from engine.trace import (
    Event,
    FinishReason,
    KvChange,
    Node,
    Phase,
    PhaseName,
    Prefill,
    PrefillProgress,
    Round,
    Settings,
    Timings,
    Token,
    Turn,
    TurnEnd,
    TurnStart,
    TurnStats,
)
from engine.trace_csv import rounds_csv
from engine.trace_json import load_trace, save_trace, trace_from_json, trace_to_json

if TYPE_CHECKING:
    from engine.measure import Quality, calibrate_plain, draft_times, quality, target_times
    from engine.model import Model
    from engine.models.cache import models_folder
    from engine.models.catalog import CATALOG, DEFAULT_MODEL
    from engine.models.setup import ensure_model, installed_models, update_model
    from engine.session import ChatSession, Message
    from engine.training import TrainingRequest, export_data, train_head, training_folder

_LATER = {
    "Quality": "engine.measure",
    "calibrate_plain": "engine.measure",
    "draft_times": "engine.measure",
    "quality": "engine.measure",
    "target_times": "engine.measure",
    "Model": "engine.model",
    "models_folder": "engine.models.cache",
    "CATALOG": "engine.models.catalog",
    "DEFAULT_MODEL": "engine.models.catalog",
    "ensure_model": "engine.models.setup",
    "installed_models": "engine.models.setup",
    "update_model": "engine.models.setup",
    "ChatSession": "engine.session",
    "Message": "engine.session",
    "TrainingRequest": "engine.training",
    "export_data": "engine.training",
    "train_head": "engine.training",
    "training_folder": "engine.training",
}


def __getattr__(name: str) -> Any:
    """Load what was left for later (PEP 562)."""
    if name not in _LATER:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value
