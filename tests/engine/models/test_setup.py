"""ensure_model: a folder in the cache that is whole or absent, made once, remade when it must be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import ConfigError, ModelFileError
from engine.models import cache, setup
from engine.models.setup import ensure_model, installed_models
from engine.tokenizer import Tokenizer
from tests.engine.models.setup_help import WARM, Builder, give_head, names_in
from tests.tiny_gguf import write_tiny_gguf

pytestmark = pytest.mark.usefixtures("root")


def test_a_catalog_model_is_fetched_and_converted_once(builder: Builder, catalog: list[str], root: Path) -> None:
    """The second start must find everything there."""
    folder = ensure_model("Tiny")
    assert folder == root / "models" / f"Tiny-int8-mixed-v{setup.CONVERTER_VERSION}"
    assert ensure_model("Tiny") == folder
    assert catalog == ["Tiny"]
    assert len(builder.calls) == 1
    assert names_in(root / "models") == {folder.name}
    assert Tokenizer.load(folder).stop_ids == {2, 0}
    assert installed_models() == [folder]


def test_the_card_says_where_everything_came_from(builder: Builder, catalog: list[str], tmp_path: Path) -> None:
    """Licences and hashes must be found in the folder itself, wherever it is copied."""
    give_head(tmp_path, b"head one")
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
    head = give_head(tmp_path, b"head one")
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
            give_head(tmp_path, data)
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
    head = give_head(tmp_path, b"head one")
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
    head = give_head(tmp_path, b"head one")
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


def test_the_cache_is_the_users_own_unless_it_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is written beside the program, which may belong to root."""
    monkeypatch.setenv("EYRIE_CACHE", "~/there")
    assert cache.models_folder() == Path.home() / "there" / "models"
    monkeypatch.delenv("EYRIE_CACHE")
    assert cache.cache_folder().name.lower() in {"eyrie", "cache"}
    assert not cache.cache_folder().is_relative_to(Path(__file__).resolve().parents[3])


def test_no_models_in_an_empty_cache() -> None:
    """A fresh machine has no cache folder at all."""
    assert installed_models() == []
