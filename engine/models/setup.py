"""Makes sure that a model is there: fetched, converted, whole. The one way to a model folder for every front end.

Knows the cache and the order of steps; each step lives in its own file. A folder appears under its name when it is
complete, and never before.
"""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tokenizers

from engine import progress as steps
from engine.config import CHAT_SAMPLING, EngineConfig, SamplingConfig
from engine.errors import ModelFileError
from engine.models import cache
from engine.models.catalog import CATALOG, DEFAULT_MODEL, DEFAULT_PRECISION, CatalogEntry, find
from engine.models.fetch import fetch_gguf, require_space, sha256
from engine.models.gguf_file import GgufFile
from engine.models.gguf_tokenizer import write_tokenizer
from engine.models.model_card import ModelCard, describe_files
from engine.tokenizer import TEMPLATE_FILE, TOKENIZER_FILE, Tokenizer

CONVERTER_VERSION = 3  # raise it when converted folders change: every user's folders are then made again
ASSETS = Path(__file__).resolve().parents[2] / "assets"


@dataclass(frozen=True, slots=True)
class _Job:
    """One folder to be made, from a model of the catalog or from a file."""

    name: str
    precision: str
    folder: Path
    head: str | None
    gguf: CatalogEntry | Path
    source: dict[str, Any]
    licence: str = ""
    mtp: str | None = None

    @property
    def engine(self) -> EngineConfig:
        """What the folder decodes with: the catalog's choice for a model of its own."""
        return self.gguf.engine if isinstance(self.gguf, CatalogEntry) else EngineConfig()

    @property
    def sampling(self) -> SamplingConfig:
        """What chats draw with: likewise."""
        return self.gguf.sampling if isinstance(self.gguf, CatalogEntry) else CHAT_SAMPLING

    def heads(self) -> dict[str, Any] | None:
        """What the card says of the heads: another one makes a folder out of date."""
        head, mtp = _describe_head(self.head), _describe_head(self.mtp)
        return {**(head or {}), "mtp": mtp} if mtp else head


def ensure_model(
    name: str = DEFAULT_MODEL,
    *,
    progress: steps.ProgressCallback = steps.ignore,
    cancel: threading.Event | None = None,
    precision: str | None = None,
) -> Path:
    """The folder of a model in the user's cache; fetches and converts it if it is not there.

    `name`: a model of the catalog, or the path of a .gguf file. `precision`: None takes the model's own. Quick when
    the folder is there. Raises `ConfigError` for unknown names, `DownloadError`, `ModelFileError`, `ModelFolderError`
    and `Cancelled`; none of them leaves anything half-made.
    """
    job = _plan(name, precision, progress, cancel)
    if _is_current(job):
        return job.folder
    with cache.exclusive(progress, cancel):
        if not _is_current(job):  # another process may have made it meanwhile
            try:
                _make(job, progress, cancel)
            except OSError as error:
                cache.explain(error)
    return job.folder


def installed_models() -> list[Path]:
    """Complete model folders of this version in the user's cache: what `ensure_model` makes first, others by name."""
    found = [
        folder for folder, card in _cards() if card.converter_version == CONVERTER_VERSION and card.is_whole(folder)
    ]
    usual = [_folder(entry.name, entry.precision) for entry in CATALOG]
    return [f for f in usual if f in found] + [f for f in found if f not in usual]


def _plan(name: str, precision: str | None, progress: steps.ProgressCallback, cancel: threading.Event | None) -> _Job:
    if name.lower().endswith(".gguf"):
        return _plan_file(Path(name).expanduser().absolute(), precision or DEFAULT_PRECISION, progress, cancel)
    entry = find(name)
    chosen = precision or entry.precision
    keys = ("origin", "package", "version", "wheel_sha256", "member", "gguf_sha256")
    source = {key: value for key, value in asdict(entry).items() if key in keys}
    return _Job(
        entry.name, chosen, _folder(entry.name, chosen), entry.draft_head, entry, source, entry.licence, entry.mtp_head
    )


def _plan_file(path: Path, precision: str, progress: steps.ProgressCallback, cancel: threading.Event | None) -> _Job:
    """The job for a file of the user's. Its hash, which takes a second per gigabyte, is looked up where it is known."""
    try:
        stat = path.stat()
        identity = {"path": str(path), "bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}
        known = [c.source["gguf_sha256"] for _, c in _cards() if identity.items() <= c.source.items()]
        digest = known[0] if known else sha256(path, progress, cancel, f"Reading {path.name}")
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror}): give the path of a .gguf file.") from None
    heads = [(entry.draft_head, entry.mtp_head) for entry in CATALOG if entry.gguf_sha256 == digest]
    head, mtp = heads[0] if heads else (None, None)
    folder = _folder(f"{_plain(path.stem)}-{digest[:12]}", precision)
    source = {**identity, "gguf_sha256": digest}
    return _Job(path.stem, precision, folder, head, path, source, mtp=mtp)


def _folder(name: str, precision: str) -> Path:
    return cache.models_folder() / f"{name}-{_plain(precision)}-v{CONVERTER_VERSION}"


def _plain(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text)[:80]


def _is_current(job: _Job) -> bool:
    """Whether the folder is whole and made from this source, by this converter, with the head that ships now."""
    card = ModelCard.read(job.folder)
    return (
        card is not None
        and card.converter_version == CONVERTER_VERSION
        and card.source.get("gguf_sha256") == job.source["gguf_sha256"]
        and card.draft_head == job.heads()
        and card.is_whole(job.folder)
    )


def _make(job: _Job, progress: steps.ProgressCallback, cancel: threading.Event | None) -> None:
    from engine.models import convert
    from engine.models.linear import check_precision

    check_precision(job.precision)
    path = job.gguf
    if isinstance(path, CatalogEntry):
        path = fetch_gguf(path, cache.downloads_folder(), progress=progress, cancel=cancel)
    with GgufFile(path) as source, cache.unfinished(job.folder) as folder:
        require_space(folder, _room(source, job.precision))
        write_tokenizer(source.metadata, folder)
        calibration = None
        if job.precision == "int8-rowwise":
            text = (ASSETS / "calibration.txt").read_text(encoding="utf-8")
            calibration = convert.calibration_tokens(_tokenizer(source, folder), text)
        convert.build_folder(
            source,
            folder,
            name=job.name,
            precision=job.precision,
            head=_head_folder(job.head),
            mtp=_head_folder(job.mtp),
            calibration=calibration,
            engine=job.engine,
            sampling=job.sampling,
            progress=progress,
            cancel=cancel,
        )
        ModelCard(
            name=job.name,
            precision=job.precision,
            converter_version=CONVERTER_VERSION,
            licence=job.licence or source.metadata.text("general.license", "unknown"),
            source=job.source,
            draft_head=job.heads(),
            files=describe_files(folder, progress, cancel),
        ).write(folder)
    _discard_older(job)


def _tokenizer(source: GgufFile, folder: Path) -> Tokenizer:
    backend = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    template = (folder / TEMPLATE_FILE).read_text(encoding="utf-8")
    return Tokenizer(backend, template, stop_ids=source.dims.stop_token_ids, bos_id=source.dims.bos_token_id)


def _room(source: GgufFile, precision: str) -> int:
    """Bytes that the converted folder takes, generously: weights, and the embedding table in float16 besides."""
    per_weight = 4.2 if precision == "float32" else 1.3
    return int(source.elements * per_weight) + 2 * source.dims.vocab_size * source.dims.hidden_size


def _head_folder(head: str | None) -> Path | None:
    """The shipped draft head of that name, if there is one."""
    folder = ASSETS / "heads" / head if head else None
    return folder if folder is not None and folder.is_dir() else None


def _describe_head(head: str | None) -> dict[str, Any] | None:
    """Name and SHA-256 over all files of a shipped head."""
    folder = _head_folder(head)
    if folder is None:
        return None
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return {"name": head, "sha256": digest.hexdigest()}


def _cards() -> list[tuple[Path, ModelCard]]:
    """Every folder in the cache that has a card."""
    root = cache.models_folder()
    folders = sorted(p for p in root.iterdir() if not p.name.startswith(".")) if root.is_dir() else []
    return [(folder, card) for folder in folders if (card := ModelCard.read(folder)) is not None]


def _discard_older(job: _Job) -> None:
    """Remove what earlier converters made of the same model; a folder that is in use stays."""
    for folder, card in _cards():
        same = (card.name, card.precision) == (job.name, job.precision)
        if same and card.source.get("gguf_sha256") == job.source["gguf_sha256"]:
            _discard_if_older(folder, card)


def _discard_if_older(folder: Path, card: ModelCard) -> None:
    if card.converter_version < CONVERTER_VERSION:
        try:
            cache.discard(folder)
        except OSError:
            return
