"""`config.json` of a model folder: written, read back, and every way in which it can be wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.config import CHAT_SAMPLING, EngineConfig
from engine.errors import ModelFolderError
from engine.models.folder import FolderConfig, has_head, head_files, read_config, write_config
from tests.tiny import DIMS

CONFIG = FolderConfig("A \N{GREEK SMALL LETTER ALPHA} model", "int8", "cpu", DIMS, EngineConfig(eagle_topk=4))


def changed(folder: Path, **values: Any) -> Path:
    """A folder whose config.json has other values; None leaves the key out."""
    write_config(folder, CONFIG)
    path = folder / "config.json"
    content = {**json.loads(path.read_text(encoding="utf-8")), **values}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}), encoding="utf-8")
    return folder


def test_it_reads_back_what_was_written(tmp_path: Path) -> None:
    """Dimensions, names beyond ASCII and engine settings survive."""
    write_config(tmp_path, CONFIG)
    assert read_config(tmp_path) == CONFIG
    assert "\N{GREEK SMALL LETTER ALPHA}" in (tmp_path / "config.json").read_text(encoding="utf-8")


def test_a_model_may_say_how_a_chat_draws(tmp_path: Path) -> None:
    """What its makers advise is kept in its folder; what it does not say is the common default, also of old folders."""
    warm = replace(CONFIG, sampling=CHAT_SAMPLING.with_(temperature=0.9, min_p=0.1))
    write_config(tmp_path, warm)
    assert read_config(tmp_path) == warm
    assert read_config(changed(tmp_path, temperature=0.2)).sampling == CHAT_SAMPLING.with_(temperature=0.2)
    assert read_config(changed(tmp_path)).sampling == CHAT_SAMPLING
    assert CHAT_SAMPLING.temperature > 0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"layer_nums": 0}, "layer_nums is 0: it must be a whole number from 1"),
        ({"head_dim": 16.5}, "head_dim is 16.5"),
        ({"vocab_size": "many"}, "vocab_size is 'many'"),
        ({"num_key_value_heads": 3}, "must be a multiple of num_key_value_heads"),
        ({"hidden_taps": [1, 2]}, "give three layer counts"),
        ({"hidden_taps": [1, 2, 9]}, "hidden_taps is 9"),
        ({"hidden_taps": "low"}, "hidden_taps is 'low'"),
        ({"stop_token_ids": [-1]}, "stop_token_ids is -1"),
        ({"rope_theta": 0}, "rope_theta is 0"),
        ({"tied_embeddings": "yes"}, "tied_embeddings is 'yes'"),
        ({"eagle_topk": 0}, "eagle_topk is 0: give a value from 1 to 16"),
        ({"eagle_tpok": 2}, "Unknown setting 'eagle_tpok': did you mean eagle_topk"),
        ({"temperature": -1}, "temperature is -1: give a value from 0 to 5"),
        ({"top_p": "most"}, "top_p is 'most'"),
        ({"exact": 1}, "exact is 1: give true or false"),
        ({"model_name": ""}, "model_name is ''"),
        ({"model_name": None}, "model_name is ''"),
        ({"precision": 8}, "precision is 8"),
        ({"flavour": []}, r"flavour is \[\]"),
        ({"eagle_model": "draft.onnx"}, r"eagle_model is 'draft\.onnx': the file is called eagle\.onnx"),
        ({"eagle_d2t": 5}, r"eagle_d2t is 5: the file is called eagle_d2t\.npy"),
    ],
)
def test_every_wrong_value_is_named(tmp_path: Path, values: dict[str, Any], sentence: str) -> None:
    """One sentence: which file, which key, what is allowed."""
    with pytest.raises(ModelFolderError, match=sentence) as caught:
        read_config(changed(tmp_path, **values))
    assert str(tmp_path / "config.json") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not readable JSON"),
        (b"{", "not readable JSON"),
        (b"\xff\xfe{}", "not readable JSON"),
        (b"[" * 100_000, "not readable JSON"),
        (b"[1, 2]", "holds no JSON object"),
        (b"null", "holds no JSON object"),
        (b"{}", "hidden_size is missing"),
    ],
    ids=["empty", "cut", "encoding", "deep", "list", "null", "object"],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    """Whatever lies there, no traceback."""
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ModelFolderError, match=sentence):
        read_config(tmp_path)


def test_what_is_no_model_folder(tmp_path: Path) -> None:
    """A missing folder, a file, a folder of other things: each says what to do."""
    with pytest.raises(ModelFolderError, match="is not a model folder: give a folder made by setup"):
        read_config(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelFolderError, match="is not a model folder"):
        read_config(tmp_path / "file")
    with pytest.raises(ModelFolderError, match=r"has no config\.json, so it is not a model folder"):
        read_config(tmp_path)
    (tmp_path / "config.json").mkdir()
    with pytest.raises(ModelFolderError, match=r"has no config\.json"):
        read_config(tmp_path)


def test_a_head_is_whole_or_absent(tmp_path: Path) -> None:
    """Row 36: one missing file must not turn into silent plain decoding."""
    assert not has_head(tmp_path, "eagle")
    for name in head_files("eagle"):
        (tmp_path / name).write_bytes(b"x")
    assert has_head(tmp_path, "eagle")
    assert not has_head(tmp_path, "mtp")
    for name in head_files("eagle"):
        (tmp_path / name).unlink()
        with pytest.raises(ModelFolderError, match=rf"The EAGLE-3 head in .* lacks {name}: make the folder again"):
            has_head(tmp_path, "eagle")
        (tmp_path / name).write_bytes(b"x")


def test_config_names_the_heads_that_are_there(tmp_path: Path) -> None:
    """MNN's keys point at the files; a folder without a head has none of them."""
    write_config(tmp_path, CONFIG)
    assert "eagle_model" not in json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    for name in head_files("eagle"):
        (tmp_path / name).write_bytes(b"x")
    write_config(tmp_path, replace(CONFIG, precision="float32"))
    values = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert [values[f"eagle_{part}"] for part in ("model", "fc", "d2t")] == list(head_files("eagle"))
    assert read_config(tmp_path).precision == "float32"
