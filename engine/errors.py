"""Errors the engine raises on purpose, by name.

Each message is one sentence a person can act on: what is wrong, where, and what to do. Front ends show
`str(error)` and nothing else; they catch `EyrieError` in one place.
"""


class EyrieError(Exception):
    """Base of every error that is meant for the user's eyes."""


class ConfigError(EyrieError):
    """A setting has a value outside its range, a wrong type, or an unknown name."""


class ModelFolderError(EyrieError):
    """A model folder is missing, incomplete, or contradicts itself."""


class ModelFileError(EyrieError):
    """A file to be converted (GGUF, safetensors) cannot be read or is not supported."""


class CheckpointError(EyrieError):
    """A draft-head checkpoint is broken, unsupported, or does not fit the target."""


class DownloadError(EyrieError):
    """A file could not be fetched, or is not the file that was asked for."""


class TraceError(EyrieError):
    """A recorded trace cannot be read."""


class ContextFull(EyrieError):
    """The conversation does not fit the model's context any more."""


class RuntimeUnavailable(EyrieError):
    """ONNX Runtime cannot run this model on this machine."""


class Cancelled(EyrieError):
    """The user stopped a long step (download, conversion, load); nothing half-made is left."""
