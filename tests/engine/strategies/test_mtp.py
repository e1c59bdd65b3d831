"""MTP drafting on tiny models, and which strategies a folder offers with which heads."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from engine.config import EngineConfig
from engine.errors import ModelFolderError
from engine.model import Model
from engine.models.convert import build_folder
from engine.models.folder import read_config
from engine.models.mtp_checkpoint import write_mtp_checkpoint
from engine.session import ChatSession
from engine.strategies import create_strategy
from engine.trace import Phase, Round
from tests.engine.conftest import Loaded
from tests.tiny import DIMS, Tiny, TinySource, as_mtp, teacher_head, write_tokenizer
from tests.turns import ASK, MTP, PLAIN, TREE, ids, record, reply, user

BOTH = Tiny(mtp="teacher")


@pytest.mark.parametrize("length", [1, 3, 7])
def test_it_drafts_a_chain(tiny: Loaded, length: int) -> None:
    """`draft_predict_length` nodes, one under the other, whatever the tree settings say."""
    turn = reply(tiny(BOTH), MTP.with_(draft_predict_length=length, eagle_topk=5, eagle_depth=2, max_new_tokens=40))
    assert {r.settings.strategy for r in turn.rounds} == {"mtp"}
    whole = [r for r in turn.rounds[:-length] if len(r.nodes) > 1]
    assert whole
    for r in whole:
        assert [(n.parent, n.depth, n.rank) for n in r.nodes] == [(i - 1, i, 0) for i in range(length + 1)]
        assert all(n.kept for n in r.nodes)
        assert [n.active for n in r.nodes] == [True] * length + [False]
        assert all(n.logprob <= 0 for n in r.nodes)
    assert not any(r.replayed or r.provisional for r in turn.rounds)


def test_it_saves_passes(tiny: Loaded) -> None:
    """Row 25: a head that knows the model is often right, also steps deep, and one that does not is not."""
    taught, random = reply(tiny(BOTH), MTP).stats(), reply(tiny(Tiny(mtp="random")), MTP).stats()
    assert taught.tau > 1.5
    assert taught.accepted_by_depth[2] >= 3
    assert random.tau < 1.2


def test_levels_are_shown_while_stepping(tiny: Loaded) -> None:
    """One level per pass of the head."""
    session = ChatSession(tiny(BOTH), MTP.with_(max_new_tokens=8))
    session.stepping = True
    levels: list[int] = []
    for event in session.generate(user(ASK)):
        if isinstance(event, Phase) and event.name == "level":
            levels.append(len(event.nodes))
        if isinstance(event, Round) and event.index == 0:
            assert levels == [2, 3, 4, 5]
    assert len(levels) > 4


def test_eagle_is_the_same_beside_an_mtp_head(tiny: Loaded) -> None:
    """The fourth stream must not reach the EAGLE-3 head: same trees, same scores, same rounds."""
    alone, beside = reply(tiny(Tiny()), TREE), reply(tiny(BOTH), TREE)
    assert [r.nodes for r in alone.rounds] == [r.nodes for r in beside.rounds]


@pytest.mark.parametrize(
    ("head", "mtp", "eagle_reason", "mtp_reason"),
    [
        ("teacher", "teacher", "", ""),
        ("teacher", "none", "", "tiny has no MTP head, so it decodes plainly."),
        ("none", "teacher", "tiny has no EAGLE-3 draft head, so it decodes plainly.", ""),
        ("none", "none", "tiny has no EAGLE-3 draft head, so", "tiny has no MTP head, so"),
    ],
)
def test_the_factory_says_what_is_missing(
    tiny: Loaded, head: str, mtp: str, eagle_reason: str, mtp_reason: str
) -> None:
    """Row 36: with any combination of heads each strategy runs or gives its reason; lookahead always runs."""
    model = tiny(Tiny(head=head, mtp=mtp))  # type: ignore[arg-type]
    for name, reason in (("eagle", eagle_reason), ("mtp", mtp_reason), ("lookahead", ""), ("plain", "")):
        strategy, said = create_strategy(name, model)
        assert said.startswith(reason)
        assert bool(said) == bool(reason)
        assert strategy.name == ("plain" if reason else name)
        turn = reply(model, EngineConfig(speculative_type=name, max_new_tokens=8))
        assert (turn.start.strategy, turn.start.reason) == (strategy.name, said)
    assert model.has_draft == (head != "none")
    assert model.target.with_last == (mtp != "none")
    named = {key for key in json.loads((model.folder / "config.json").read_text()) if key.endswith("_model")}
    assert named == {f"{kind}_model" for kind, there in (("eagle", head), ("mtp", mtp)) if there != "none"}


def test_a_folder_converted_before_gives_the_reason(tmp_path: Path) -> None:
    """A head put into an older folder, whose graph has no last hidden state: it still decodes, and says why plainly."""
    BOTH.build(tmp_path)
    graph = onnx.load(tmp_path / "llm.onnx", load_external_data=False)
    kept = [output for output in graph.graph.output if output.name != "last_hidden"]
    del graph.graph.output[:]
    graph.graph.output.extend(kept)
    (tmp_path / "llm.onnx").write_bytes(graph.SerializeToString())
    model = Model.load(tmp_path, threads=1)
    turn = reply(model, MTP)
    assert turn.start.strategy == "plain"
    assert "converted before MTP heads were known" in turn.start.reason
    assert reply(model, TREE).start.reason == ""
    model.close()


def test_an_incomplete_head_stops_loading(tmp_path: Path) -> None:
    """Better than to decode without it and never say so."""
    BOTH.build(tmp_path)
    (tmp_path / "mtp_d2t.npy").unlink()
    with pytest.raises(ModelFolderError, match=r"MTP head .* lacks mtp_d2t\.npy"):
        Model.load(tmp_path, threads=1)


def test_wrong_names_in_the_config_are_refused(tmp_path: Path) -> None:
    """A name that means another file would be ignored silently."""
    BOTH.build(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "mtp_model": "other.onnx"}))
    with pytest.raises(ModelFolderError, match=r"mtp_model is 'other\.onnx': the file is called mtp\.onnx"):
        read_config(tmp_path)


def test_the_converter_takes_checkpoint_and_converted_files(tmp_path: Path) -> None:
    """A head trained elsewhere, and one that ships: both draft, and the same."""
    checkpoint, folder = tmp_path / "head", tmp_path / "one"
    write_mtp_checkpoint(checkpoint, as_mtp(teacher_head()))
    drafts = []
    for out, head in ((folder, checkpoint), (tmp_path / "two", folder)):
        out.mkdir()
        build_folder(TinySource(), out, name="tiny", precision="float32", mtp=head)
        write_tokenizer(out)
        model = Model.load(out, threads=1)
        turn = reply(model, MTP)
        assert turn.stats().tau > 1.5
        drafts.append([r.nodes for r in turn.rounds])
        assert read_config(out).dims == DIMS
        model.close()
    assert drafts[0] == drafts[1]


def test_it_takes_over_in_mid_turn(tiny: Loaded) -> None:
    """Rows that were decoded by others wait for the head; a switch costs a catch-up and changes no token."""
    model = tiny(BOTH)
    session = ChatSession(model, PLAIN)
    events = session.generate(user(ASK))

    def switching() -> object:
        for event in events:
            yield event
            if isinstance(event, Round):
                session.config = (PLAIN, TREE, MTP)[event.index // 4 % 3]

    turn = record(switching())  # type: ignore[arg-type]
    assert ids(turn) == ids(reply(model, PLAIN))
    assert {r.settings.strategy for r in turn.rounds} == {"plain", "eagle", "mtp"}
    assert any(r.accepted for r in turn.rounds if r.settings.strategy == "mtp")
