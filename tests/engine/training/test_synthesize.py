"""A tiny model writes text: whole conversations with right spans, continued where writing stopped."""

# ruff: noqa: E402
from __future__ import annotations

import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine.errors import Cancelled, ConfigError
from engine.tokenizer import Tokenizer
from engine.training import synthesize, text_parts
from engine.training.conversations import read_file
from engine.training.folder_weights import FolderWeights
from engine.training.specforge import messages
from engine.training.synthesize import Writer, WritingPlan
from engine.training.text_parts import have_tokens, parts_of
from engine.training.torch_target import TorchTarget
from tests.engine.training.tiny_run import build


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny target."""
    return build(tmp_path_factory.mktemp("m"))


def writer(model: Path, folder: Path, tokens: int, **changes: int) -> Writer:
    """Six conversations at once, short replies."""
    target = TorchTarget(FolderWeights(model), "cpu", torch.float32)
    plan = WritingPlan(**{"tokens": tokens, "batch": 6, "longest_reply": 24, "longest": 200, **changes})
    return Writer(target, Tokenizer.load(model), folder, plan)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files from little text."""
    monkeypatch.setattr(text_parts, "PART", 8)
    monkeypatch.setattr(synthesize, "LONGEST_USER", 40)


def test_conversations_are_whole(model: Path, tmp_path: Path) -> None:
    """Each follows the template, and every span is a reply."""
    made = writer(model, tmp_path, 3000)
    assert made.write() >= 3000
    tok = Tokenizer.load(model)
    found = [read_file(path) for path in parts_of(tmp_path)]
    talks = [data[i] for data in found for i in range(len(data))]
    assert len(found) > 1
    assert sum(len(talk.ids) for talk in talks) == have_tokens(tmp_path) >= 3000
    for talk in talks:
        turns = messages(talk, made._pieces, tok)
        assert [turn["role"] for turn in turns[:2]] == ["user", "assistant"]
        assert all(end - first <= 25 for first, end in talk.spans)
        assert talk.spans[-1][1] == len(talk.ids)
    assert len({talk.key() for talk in talks}) == len(talks)


def test_greedy_replies_are_the_model_s_likeliest(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batching, refilled slots and caches change no token."""
    monkeypatch.setattr("engine.training.prompts.GREEDY_SHARE", 1.0)
    for name in ("ends_in_loop", "repeats_itself"):  # a tiny model runs in circles soon
        monkeypatch.setattr(synthesize, name, lambda ids: False)
    monkeypatch.setattr(synthesize.Seen, "add", lambda self, ids: True)
    writer(model, tmp_path, 1500).write()
    target = TorchTarget(FolderWeights(model), "cpu", torch.float32)
    data = read_file(parts_of(tmp_path)[0])
    right = total = 0
    for i in range(len(data)):
        top = target.hidden(torch.from_numpy(data[i].ids.astype("int64"))[None]).top[0].numpy()
        for first, end in data[i].spans:
            right += int((top[first - 1 : end - 1] == data[i].ids[first:end]).sum())
            total += end - first
    assert right > 0.98 * total  # float16 rounding decides between equals


def test_writing_continues(model: Path, tmp_path: Path) -> None:
    """Stopped by Ctrl+C, what was finished is there, and the rest is new text."""
    stop, made = threading.Event(), writer(model, tmp_path, 100_000)
    with pytest.raises(Cancelled):
        made.write(lambda _: stop.set() if made._have > 1500 else None, stop)
    have = have_tokens(tmp_path)
    assert have > 1500
    assert writer(model, tmp_path, have + 500).write() >= have + 500
    talks = [data[i].key() for data in map(read_file, parts_of(tmp_path)) for i in range(len(data))]
    assert len(set(talks)) == len(talks)


def test_nothing_is_written_when_there_is_enough(model: Path, tmp_path: Path) -> None:
    """A second run goes straight to training."""
    writer(model, tmp_path, 1000).write()
    before = parts_of(tmp_path)
    writer(model, tmp_path, 1000).write()
    assert parts_of(tmp_path) == before


def test_a_model_that_only_repeats_itself_is_told_so(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not write for ever."""
    monkeypatch.setattr(synthesize, "repeats_itself", lambda ids: True)
    monkeypatch.setattr(synthesize, "_GIVE_UP", 1)
    with pytest.raises(ConfigError, match="repetition"):
        writer(model, tmp_path, 1500).write()
    assert not parts_of(tmp_path)


def test_progress_moves_before_the_first_conversation_is_whole(model: Path, tmp_path: Path) -> None:
    """With many conversations at once nothing is whole for minutes, and "0 %, 16,000 minutes left" says nothing."""
    made = writer(model, tmp_path, 3000)
    seen: list[tuple[int, int]] = []
    made.write(lambda p: seen.append((p.done, made._have)))
    assert any(0 < done < 3000 and have == 0 for done, have in seen)
    assert max(done for done, _ in seen) <= 3000


def test_long_prompts_are_kept_where_replies_leave_room(model: Path, tmp_path: Path) -> None:
    """Half of the conversation was the limit, which cut every passage of a summary."""
    assert WritingPlan(1000, longest=1024).longest_user == 1024 - 360 - 100
    assert WritingPlan(1000, longest=400).longest_user == 200
    prompts = ("word " * 120,)
    made = Writer(
        TorchTarget(FolderWeights(model), "cpu", torch.float32), Tokenizer.load(model), tmp_path,
        WritingPlan(1000, batch=2, longest=400, longest_reply=24, prompts_share=1.0), prompts,
    )  # fmt: skip
    draft = made._open()
    assert len(draft.ids) > 200
