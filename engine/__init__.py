"""Turns a conversation into tokens, and every round into a record. No Qt.

Front ends import from here and from nowhere deeper.
"""

from engine.config import CHOICES, RANGES, Choice, EngineConfig, Range, SamplingConfig, tree_pool, verified_nodes
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
from engine.measure import Quality, calibrate_plain, draft_times, quality, target_times
from engine.model import Model
from engine.models.cache import models_folder
from engine.models.catalog import DEFAULT_MODEL
from engine.models.setup import ensure_model, installed_models
from engine.progress import Progress, ProgressCallback, ignore
from engine.session import ChatSession, Message
from engine.strategies import canonical_name, strategies
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
