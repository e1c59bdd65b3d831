"""ensure_model: a folder in the cache that is whole or absent, made once, remade when it must be."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.config import SamplingConfig
from engine.errors import Cancelled, ConfigError, DownloadError, ModelFileError, ModelFolderError
from engine.models import cache, convert, setup, shipped_heads
from engine.models.folder import FolderConfig, write_config
from engine.models.gguf_file import GgufFile
from engine.models.setup import ensure_model, installed_models
from engine.progress import Progress
from engine.tokenizer import Tokenizer
from tests.package_index import altered, make_entry
from tests.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).resolve().parents[3]
WARM = SamplingConfig(temperature=0.9)


class Builder:
    """Stands in for the conversion: small files, counted, and made to fail on request."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.before: Callable[[Path], None] = lambda _: None

    def __call__(self, source: GgufFile, out: Path, **options: Any) -> None:
        self.calls.append(options)
        assert (out / "tokenizer.json").is_file()
        (out / "llm.onnx").write_bytes(source.tensor("model.norm.weight").tobytes())
        self.before(out)
        if options["head"]:
            (out / "eagle.onnx").write_bytes(b"head")
        engine, sampling = options["engine"], options["sampling"]
        write_config(out, FolderConfig(options["name"], options["precision"], "cpu", source.dims, engine, sampling))


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    """The conversion replaced."""
    builder = Builder()
    monkeypatch.setattr(convert, "build_folder", builder)
    return builder


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("EYRIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    """A model file of the user's."""
    return write_tiny_gguf(tmp_path / "My model.gguf")


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch, gguf: Path, tmp_path: Path) -> list[str]:
    """A catalog with the tiny model in it, whose fetching is a copy; returns the names fetched."""
    entry = altered(make_entry(gguf.read_bytes(), b"wheel"), draft_head="tiny-head", mtp_head="tiny-mtp", sampling=WARM)
    fetched: list[str] = []

    def fetch(wanted: Any, folder: Path, **_: Any) -> Path:
        fetched.append(wanted.name)
        folder.mkdir(exist_ok=True)
        return Path(shutil.copy(gguf, folder / "tiny.gguf"))

    monkeypatch.setattr(setup, "find", lambda _: entry)
    monkeypatch.setattr(setup, "CATALOG", (entry,))
    monkeypatch.setattr(setup, "fetch_gguf", fetch)
    monkeypatch.setattr(shipped_heads, "ASSETS", tmp_path / "assets")
    return fetched


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _give_head(tmp_path: Path, data: bytes) -> Path:
    head = tmp_path / "assets" / "heads" / "tiny-head"
    head.mkdir(parents=True, exist_ok=True)
    (head / "eagle.onnx").write_bytes(data)
    return head


def test_a_catalog_model_is_fetched_and_converted_once(builder: Builder, catalog: list[str], root: Path) -> None:
    """The second start must find everything there."""
    folder = ensure_model("Tiny")
    assert folder == root / "models" / f"Tiny-int8-mixed-v{setup.CONVERTER_VERSION}"
    assert ensure_model("Tiny") == folder
    assert catalog == ["Tiny"]
    assert len(builder.calls) == 1
    assert _names(root / "models") == {folder.name}
    assert Tokenizer.load(folder).stop_ids == {2, 0}
    assert installed_models() == [folder]


def test_the_card_says_where_everything_came_from(builder: Builder, catalog: list[str], tmp_path: Path) -> None:
    """Licences and hashes must be found in the folder itself, wherever it is copied."""
    _give_head(tmp_path, b"head one")
    card = json.loads((ensure_model("Tiny") / "model_card.json").read_text())
    assert (card["name"], card["licence"], card["precision"]) == ("Tiny", "Apache-2.0", "int8-mixed")
    assert card["converter_version"] == setup.CONVERTER_VERSION
    assert card["source"]["package"] == "tiny-model"
    assert len(card["source"]["wheel_sha256"]) == len(card["draft_head"]["sha256"]) == 64
    assert card["draft_head"]["name"] == "tiny-head"
    files = {"llm.onnx", "config.json", "tokenizer.json", "chat_template.jinja", "eagle.onnx"}
    assert card["files"].keys() == files
    assert card["files"]["eagle.onnx"]["from"] == "draft_head"
    assert all(len(entry["sha256"]) == 64 and entry["bytes"] > 0 for entry in card["files"].values())


def test_the_conversion_is_asked_for_the_right_thing(builder: Builder, catalog: list[str], tmp_path: Path) -> None:
    """Precision, head and sampling come from the catalog, the precision unless the user chose."""
    head = _give_head(tmp_path, b"head one")
    ensure_model("Tiny")
    ensure_model("Tiny", precision="float32")
    assert [(c["name"], c["precision"], c["head"]) for c in builder.calls] == [
        ("Tiny", "int8-mixed", head),
        ("Tiny", "float32", head),
    ]
    assert len(installed_models()) == 2
    assert [c["sampling"] for c in builder.calls] == [WARM, WARM]


def test_the_usual_precision_is_listed_first(builder: Builder, catalog: list[str]) -> None:
    """Whoever takes the first must not get a precision that sorts before the model's own ("float32", "int8")."""
    others = [ensure_model("Tiny", precision=precision) for precision in ("int8", "float32")]
    assert installed_models() == sorted(others)
    usual = ensure_model("Tiny")
    assert installed_models() == [usual, *sorted(others)]


def test_rowwise_precision_gets_a_calibration_text(builder: Builder, gguf: Path) -> None:
    """Without it the scales would be missing, and the model visibly worse."""
    ensure_model(str(gguf), precision="int8-rowwise")
    assert len(builder.calls[0]["calibration"]) > 1000


def test_another_shipped_head_makes_the_folder_again(builder: Builder, catalog: list[str], tmp_path: Path) -> None:
    """An upgrade that ships a better head must reach people who have the model already."""
    for data in (None, b"head one", b"head two"):
        if data:
            _give_head(tmp_path, data)
        folder = ensure_model("Tiny")
        assert ensure_model("Tiny") == folder
    assert [bool(call["head"]) for call in builder.calls] == [False, True, True]
    assert installed_models() == [folder]


def test_a_shipped_mtp_head_makes_the_folder_again(builder: Builder, catalog: list[str], tmp_path: Path) -> None:
    """Beside an EAGLE-3 head or alone; the card names both."""
    ensure_model("Tiny")
    mtp = tmp_path / "assets" / "heads" / "tiny-mtp"
    mtp.mkdir(parents=True)
    (mtp / "mtp.onnx").write_bytes(b"head")
    folder = ensure_model("Tiny")
    assert ensure_model("Tiny") == folder
    assert (folder / "mtp.onnx").read_bytes() == b"head"
    assert len(builder.calls) == 1  # a converted head only has to be copied
    head = _give_head(tmp_path, b"head one")
    ensure_model("Tiny")
    assert (builder.calls[-1]["head"], builder.calls[-1]["mtp"]) == (head, mtp)
    card = json.loads((folder / "model_card.json").read_text())["draft_head"]
    assert (card["name"], card["mtp"]["name"]) == ("tiny-head", "tiny-mtp")


def test_a_newer_converter_makes_the_folder_again(
    builder: Builder, catalog: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And removes the old one, which nothing would ever use again."""
    old = ensure_model("Tiny")
    kept = ensure_model("Tiny", precision="float32")
    monkeypatch.setattr(setup, "CONVERTER_VERSION", setup.CONVERTER_VERSION + 1)
    assert installed_models() == []
    new = ensure_model("Tiny")
    assert new.name == f"Tiny-int8-mixed-v{setup.CONVERTER_VERSION}"
    assert not old.exists()
    assert kept.exists()
    assert installed_models() == [new]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "file missing": lambda folder: (folder / "llm.onnx").unlink(),
    "file short": lambda folder: (folder / "llm.onnx").write_bytes(b"x"),
    "no card": lambda folder: (folder / "model_card.json").unlink(),
    "card cut": lambda folder: (folder / "model_card.json").write_text('{"name":'),
    "card of another kind": lambda folder: (folder / "model_card.json").write_text("[1]"),
    "card without sizes": lambda folder: (folder / "model_card.json").write_text(
        json.dumps({**json.loads((folder / "model_card.json").read_text()), "files": {"llm.onnx": {}}})
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_folder_is_made_again(builder: Builder, catalog: list[str], damage: Callable[[Path], object]) -> None:
    """A half-deleted folder must heal by itself."""
    folder = ensure_model("Tiny")
    damage(folder)
    assert installed_models() == []
    assert ensure_model("Tiny") == folder
    assert installed_models() == [folder]
    assert len(builder.calls) == 2


def test_a_file_of_the_users_is_converted_by_its_hash(builder: Builder, gguf: Path, tmp_path: Path) -> None:
    """The same bytes under another name are the same model; other bytes under the same name are not."""
    folder = ensure_model(str(gguf))
    assert folder.name.startswith("My-model-")
    assert ensure_model(str(gguf)) == folder
    (tmp_path / "other").mkdir()
    other = write_tiny_gguf(tmp_path / "other" / gguf.name, change={"general.name": "Other"})
    assert ensure_model(str(other)) != folder
    assert len(builder.calls) == 2
    card = json.loads((folder / "model_card.json").read_text())
    assert card["source"]["path"] == str(gguf)
    assert card["licence"] == "unknown"


def test_a_known_file_is_not_hashed_again(builder: Builder, gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file would cost seconds at every start."""
    folder = ensure_model(str(gguf))
    monkeypatch.setattr(setup, "sha256", lambda *_: pytest.fail("hashed again"))
    assert ensure_model(str(gguf)) == folder


def test_the_catalogs_own_file_gets_its_head(builder: Builder, catalog: list[str], gguf: Path, tmp_path: Path) -> None:
    """Somebody offline who has the file from elsewhere should not lose speculation."""
    head = _give_head(tmp_path, b"head one")
    ensure_model(str(gguf))
    assert builder.calls[0]["head"] == head
    assert catalog == []


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("SmolLM2-135M-Instrukt", ConfigError, "did you mean SmolLM2-135M-Instruct"),
        ("nothing like it", ConfigError, "known models are SmolLM2-135M-Instruct"),
        ("/nowhere/at/all.gguf", ModelFileError, "cannot be read"),
        ("/nowhere/AT.GGUF", ModelFileError, "cannot be read"),
    ],
)
def test_unknown_models_are_named(builder: Builder, name: str, error: type[Exception], words: str) -> None:
    """With the nearest known one."""
    with pytest.raises(error, match=words):
        ensure_model(name)


def test_an_unknown_precision_costs_no_download(builder: Builder, catalog: list[str]) -> None:
    """A typo must not fetch a hundred megabytes first."""
    with pytest.raises(ConfigError, match="Unknown precision 'int3'"):
        ensure_model("Tiny", precision="int3")
    assert catalog == []


def _raise(error: BaseException) -> Callable[[Path], None]:
    def before(_: Path) -> None:
        raise error

    return before


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), ModelFolderError),
        (PermissionError(errno.EACCES, "Permission denied"), ModelFolderError),
        (ModelFileError("broken"), ModelFileError),
        (Cancelled("Stopped."), Cancelled),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value.__name__,
)
def test_a_failed_conversion_leaves_nothing(
    builder: Builder, gguf: Path, root: Path, error: BaseException, shown: type[BaseException]
) -> None:
    """And the next try succeeds."""
    builder.before = _raise(error)
    with pytest.raises(shown):
        ensure_model(str(gguf))
    assert _names(root / "models") == set()
    builder.before = lambda _: None
    assert ensure_model(str(gguf)).is_dir()


def test_a_failed_remake_keeps_the_old_folder(builder: Builder, catalog: list[str], tmp_path: Path) -> None:
    """Offline after an upgrade of the head, say: the old one is still better than none."""
    folder = ensure_model("Tiny")
    _give_head(tmp_path, b"head")
    builder.before = _raise(ModelFileError("broken"))
    with pytest.raises(ModelFileError):
        ensure_model("Tiny")
    assert installed_models() == [folder]


def test_stop_before_the_folder_appears(builder: Builder, gguf: Path, root: Path) -> None:
    """Cancelled in the last step, there is still no folder."""
    cancel = threading.Event()
    builder.before = lambda _: cancel.set()
    with pytest.raises(Cancelled):
        ensure_model(str(gguf), cancel=cancel)
    assert _names(root / "models") == set()


def test_a_full_disk_is_told_before_the_conversion(
    builder: Builder, gguf: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after minutes of work."""
    usage = shutil.disk_usage(gguf.parent)._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DownloadError, match="disk is too full"):
        ensure_model(str(gguf))
    assert builder.calls == []
    assert _names(root / "models") == set()


@pytest.mark.parametrize("where", ["cache", "cache/models"])
def test_a_cache_that_cannot_be_written(builder: Builder, gguf: Path, tmp_path: Path, where: str) -> None:
    """A file stands where the folder should be, or it belongs to somebody else."""
    (tmp_path / where).parent.mkdir(exist_ok=True)
    (tmp_path / where).write_text("")
    with pytest.raises(ModelFolderError, match="cannot be used"):
        ensure_model(str(gguf))


def test_a_broken_file_of_the_users(builder: Builder, gguf: Path, root: Path) -> None:
    """The reader's sentence arrives as it is."""
    os.truncate(gguf, 2000)
    with pytest.raises(ModelFileError, match=r"My model\.gguf is cut short"):
        ensure_model(str(gguf))
    assert _names(root / "models") == set()


def test_leftovers_of_killed_setups_go(builder: Builder, gguf: Path, root: Path) -> None:
    """They may be large, and their owner is dead: it had the lock, and we have it now."""
    for name in ("models/.building-abc", "models/.discarded-def", "downloads/.fetching-ghi"):
        (root / name).mkdir(parents=True)
        (root / name / "big").write_text("x")
    ensure_model(str(gguf))
    assert _names(root) == {"models", "downloads", "setup.lock"}
    assert len(_names(root / "models")) == 1
    assert _names(root / "downloads") == set()


CHILD = """
    import sys, time
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from engine.models import convert
    from engine.models.folder import FolderConfig, write_config
    from engine.models.setup import ensure_model

    def build(source, out, **options):
        (out / "llm.onnx").write_text("x")
        engine, sampling = options["engine"], options["sampling"]
        write_config(out, FolderConfig(options["name"], options["precision"], "cpu", source.dims, engine, sampling))
        print("building", flush=True)
        time.sleep(float(sys.argv[3]))

    convert.build_folder = build
    print(ensure_model(sys.argv[2]), flush=True)
"""


def _start(gguf: Path, seconds: float) -> subprocess.Popen[str]:
    """Another process that sets the same model up and takes its time."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(ROOT), str(gguf), str(seconds)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "building\n"
    return child


def test_two_processes_make_it_once(builder: Builder, gguf: Path) -> None:
    """The window and the command line started at the same time: the second waits, says so, and uses the result."""
    seen: list[Progress] = []
    with _start(gguf, 1.0) as child:
        folder = ensure_model(str(gguf), progress=seen.append)
        assert child.stdout is not None
        assert child.stdout.readline().strip() == str(folder)
    assert builder.calls == []
    assert any(p.step.startswith("Waiting for another") for p in seen)


def test_waiting_can_be_stopped(builder: Builder, gguf: Path) -> None:
    """The other process may take minutes."""
    cancel = threading.Event()
    with _start(gguf, 1.5):
        began = time.monotonic()
        threading.Timer(0.3, cancel.set).start()
        with pytest.raises(Cancelled):
            ensure_model(str(gguf), cancel=cancel)
        assert time.monotonic() - began < 1.2


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_a_killed_process_blocks_nobody(builder: Builder, gguf: Path, root: Path) -> None:
    """Its lock dies with it, its half-made folder goes, and nobody ever saw it under its name."""
    with _start(gguf, 60) as child:
        assert installed_models() == []
        assert len(list((root / "models").glob(".building-*"))) == 1
        child.send_signal(signal.SIGKILL)
    folder = ensure_model(str(gguf))
    assert len(builder.calls) == 1
    assert _names(root / "models") == {folder.name}


def test_threads_of_one_process_make_it_once(builder: Builder, gguf: Path) -> None:
    """The window's worker and a second window in the same process."""
    builder.before = lambda _: time.sleep(0.2)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(ensure_model(str(gguf)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert len(builder.calls) == 1


def test_the_cache_is_the_users_own_unless_it_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is written beside the program, which may belong to root."""
    monkeypatch.setenv("EYRIE_CACHE", "~/there")
    assert cache.models_folder() == Path.home() / "there" / "models"
    monkeypatch.delenv("EYRIE_CACHE")
    assert cache.cache_folder().name.lower() in {"eyrie", "cache"}
    assert not cache.cache_folder().is_relative_to(ROOT)


def test_no_models_in_an_empty_cache() -> None:
    """A fresh machine has no cache folder at all."""
    assert installed_models() == []
