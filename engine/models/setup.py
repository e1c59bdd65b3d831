"""Makes sure that a model is there: fetched, converted, whole. The one way to a model folder for every front end.

Knows the cache and the order of steps; each step lives in its own file. A folder appears under its name when it is
complete, and never before.
"""

from __future__ import annotations

import contextlib
import re
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine import progress as steps
from engine.config import CHAT_SAMPLING, EngineConfig, SamplingConfig
from engine.errors import ModelFileError
from engine.models import cache, shipped_heads
from engine.models.catalog import CATALOG, DEFAULT_MODEL, DEFAULT_PRECISION, CatalogEntry, find
from engine.models.fetch import fetch_gguf, require_space, sha256
from engine.models.folder import HeadKind
from engine.models.gguf_file import GgufFile
from engine.models.gguf_tokenizer import write_tokenizer
from engine.models.model_card import ModelCard, cards_in, describe_files
from engine.models.renew import Renewal, has_defaults
from engine.tokenizer import TEMPLATE_FILE, TOKENIZER_FILE, Tokenizer
from engine.tokenizer_file import read_tokenizer

CONVERTER_VERSION = 3  # raise it when converted folders change: every user's folders are then made again


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

    @property
    def heads(self) -> dict[HeadKind, Path]:
        """The shipped heads that the folder gets."""
        folders: dict[HeadKind, Path | None] = {
            "eagle": shipped_heads.head_folder(self.head),
            "mtp": shipped_heads.head_folder(self.mtp),
        }
        return {kind: folder for kind, folder in folders.items() if folder is not None}

    def card(self, licence: str, files: dict[str, dict[str, Any]]) -> ModelCard:
        """What is written beside the finished files."""
        heads = shipped_heads.describe_heads(self.head, self.mtp)
        return ModelCard(self.name, self.precision, CONVERTER_VERSION, licence, self.source, heads, files)


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
    return _ensure(_plan(name, precision, progress, cancel), progress, cancel)


def _ensure(job: _Job, progress: steps.ProgressCallback, cancel: threading.Event | None) -> Path:
    if _is_current(job):
        return job.folder
    with cache.exclusive(progress, cancel):
        if not _is_current(job):  # another process may have made it meanwhile
            try:
                _make(job, progress, cancel)
            except OSError as error:
                cache.explain(error)
    return job.folder


def update_model(
    folder: Path, *, progress: steps.ProgressCallback = steps.ignore, cancel: threading.Event | None = None
) -> Path:
    """The folder to load where `folder` was asked for: itself, brought up to date if it came from the catalog.

    That is quick where nothing is new, a second where another head ships now, and a conversion where the converter is
    another; only that one may need the network. Folders of other origin, damaged ones and those with heads of the
    user's own stay as they are. Raises as `ensure_model`, and `folder` is then as it was.
    """
    card = ModelCard.read(folder)
    entry = next((e for e in CATALOG if card and card.source["gguf_sha256"] == e.gguf_sha256), None)
    if card is None or entry is None or folder.parent != cache.models_folder() or not card.is_whole(folder):
        return folder
    current = folder.with_name(re.sub(r"-v\d+$", f"-v{CONVERTER_VERSION}", folder.name))
    job = _Job(card.name, card.precision, current, entry.draft_head, entry, card.source, card.licence, entry.mtp_head)
    return _ensure(job, progress, cancel)


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
    """Whether the folder is whole and made from this source, by this converter, with the heads that ship now."""
    card = _card_of_same(job)
    return (
        card is not None
        and card.draft_head == shipped_heads.describe_heads(job.head, job.mtp)
        and card.is_whole(job.folder)
        and has_defaults(job.folder, job.engine, job.sampling)
    )


def _card_of_same(job: _Job) -> ModelCard | None:
    """The card of the job's folder if this converter made it from the same source."""
    card = ModelCard.read(job.folder)
    same = card is not None and card.source.get("gguf_sha256") == job.source["gguf_sha256"]
    return card if card is not None and same and card.converter_version == CONVERTER_VERSION else None


def _make(job: _Job, progress: steps.ProgressCallback, cancel: threading.Event | None) -> None:
    renewal = Renewal.plan(job.folder, tuple(job.heads.items())) if _card_of_same(job) else None
    if renewal is None:
        _convert(job, progress, cancel)
    else:
        with cache.unfinished(job.folder) as folder:
            files = renewal.write(folder, job.engine, job.sampling, progress=progress, cancel=cancel)
            job.card(renewal.card.licence, files).write(folder)
    _discard_older(job)


def _convert(job: _Job, progress: steps.ProgressCallback, cancel: threading.Event | None) -> None:
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
            text = (shipped_heads.ASSETS / "calibration.txt").read_text(encoding="utf-8")
            calibration = convert.calibration_tokens(_tokenizer(source, folder), text)
        convert.build_folder(
            source,
            folder,
            name=job.name,
            precision=job.precision,
            head=job.heads.get("eagle"),
            mtp=job.heads.get("mtp"),
            calibration=calibration,
            engine=job.engine,
            sampling=job.sampling,
            progress=progress,
            cancel=cancel,
        )
        licence = job.licence or source.metadata.text("general.license", "unknown")
        job.card(licence, describe_files(folder, progress, cancel)).write(folder)


def _tokenizer(source: GgufFile, folder: Path) -> Tokenizer:
    backend = read_tokenizer((folder / TOKENIZER_FILE).read_text(encoding="utf-8"))
    template = (folder / TEMPLATE_FILE).read_text(encoding="utf-8")
    return Tokenizer(backend, template, stop_ids=source.dims.stop_token_ids, bos_id=source.dims.bos_token_id)


def _room(source: GgufFile, precision: str) -> int:
    """Bytes that the converted folder takes, generously: weights, and the embedding table in float16 besides."""
    per_weight = 4.2 if precision == "float32" else 1.3
    return int(source.elements * per_weight) + 2 * source.dims.vocab_size * source.dims.hidden_size


def _cards() -> list[tuple[Path, ModelCard]]:
    return cards_in(cache.models_folder())


def _discard_older(job: _Job) -> None:
    """Remove what earlier converters made of the same model; a folder that is in use stays."""
    for folder, card in _cards():
        same = (card.name, card.precision) == (job.name, job.precision)
        of_source = same and card.source.get("gguf_sha256") == job.source["gguf_sha256"]
        if of_source and card.converter_version < CONVERTER_VERSION:
            with contextlib.suppress(OSError):
                cache.discard(folder)
