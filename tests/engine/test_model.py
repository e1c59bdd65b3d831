"""Loading a model folder: what is there, what is said on the way, and what is refused."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from pathlib import Path

import pytest

from engine.config import EngineConfig
from engine.errors import Cancelled, ModelFolderError
from engine.model import Model
from engine.progress import Progress
from tests.tiny import DIMS, Tiny
from tests.turns import PLAIN, reply


def test_a_folder_says_what_it_is(tmp_path: Path) -> None:
    """Name, precision, sizes, head and engine defaults come from the folder, not from the program."""
    engine = EngineConfig(eagle_topk=3, eagle_depth=5, draft_predict_length=9)
    model = Model.load(Tiny(precision="int8", engine=engine).build(tmp_path), threads=1)
    assert (model.name, model.precision, model.dims, model.folder) == ("tiny", "int8", DIMS, tmp_path)
    assert (model.has_draft, model.defaults, model.threads) == (True, engine, 1)
    assert model.tokenizer.stop_ids == {0, 2}
    assert reply(model, PLAIN).start.model == "tiny"


def test_progress_comes_in_steps_and_ends(tmp_path: Path) -> None:
    """The window shows each step; the last one is complete."""
    seen: list[Progress] = []
    Model.load(Tiny().build(tmp_path), progress=seen.append, threads=1)
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert (seen[0].done, seen[-1].done) == (0, seen[-1].total)
    assert all(p.step for p in seen)


def test_loading_can_be_stopped(tmp_path: Path) -> None:
    """A large model takes seconds; the user may choose another one meanwhile."""
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        Model.load(Tiny().build(tmp_path), cancel=cancel, threads=1)


def test_another_flavour_is_refused(tmp_path: Path) -> None:
    """Its graphs have other inputs; they would fail later with a riddle."""
    folder = Tiny().build(tmp_path)
    path = folder / "config.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"cpu"', '"portable"'), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="flavour 'portable': this version of Eyrie runs 'cpu'"):
        Model.load(folder, threads=1)


@pytest.mark.parametrize("name", ["eagle.onnx", "eagle_fc.onnx", "eagle_d2t.npy"])
def test_half_a_head_is_refused(tmp_path: Path, name: str) -> None:
    """Rows 23, 36: a head with a missing file must not turn into silent plain decoding."""
    folder = Tiny().build(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=rf"head in .* lacks {name}"):
        Model.load(folder, threads=1)


@pytest.mark.parametrize("name", ["config.json", "llm.onnx", "embeddings.npy", "tokenizer.json", "chat_template.jinja"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    """One sentence with the file's name."""
    folder = Tiny().build(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=name.replace(".", r"\.")) as caught:
        Model.load(folder, threads=1)
    assert "\n" not in str(caught.value)


def test_close_frees_the_memory(tmp_path: Path) -> None:
    """Changing the model in the window must not keep the old one's weights and caches."""
    model = Model.load(Tiny().build(tmp_path), threads=1)
    reply(model, PLAIN)
    parts = [weakref.ref(model.target), weakref.ref(model.draft)]
    model.close()
    gc.collect()
    assert [part() for part in parts] == [None, None]


def test_config_json_is_written_for_people(tmp_path: Path) -> None:
    """MNN's key names, one per line, so that it can be read and edited."""
    folder = Tiny().build(tmp_path)
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert values["speculative_type"] == "eagle"
    assert values["eagle_model"] == "eagle.onnx"
    assert {"eagle_topk", "eagle_depth", "draft_predict_length", "hidden_taps", "layer_nums"} <= values.keys()
