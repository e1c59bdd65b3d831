"""Training text comes back from its file as it went in, and a file that is not right is refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import ConfigError
from engine.training.conversations import Conversation, DataSet, load_data, read_file, write_file

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "smollm2_selfchat.npz"


def talk(length: int, *spans: tuple[int, int], start: int = 0) -> Conversation:
    """Ids that count up."""
    return Conversation(np.arange(start, start + length, dtype=np.int32), spans)


def stored(path: Path, **changes: Any) -> Path:
    """A file as other tools write it, with some arrays changed."""
    arrays: dict[str, Any] = {
        "ids": np.arange(10, dtype=np.uint16),
        "off": np.array([0, 4, 10]),
        "spans": np.array([[0, 2, 5], [1, 1, 3], [1, 4, 6]], np.int32),
        "last": np.array([7, -1], np.int32),
        **changes,
    }
    with path.open("wb") as file:
        np.savez(file, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_round_trip(tmp_path: Path) -> None:
    """Ids, bounds and spans survive; text of a large vocabulary does not lose its upper bits."""
    data = DataSet.of([talk(5, (2, 5)), talk(9, (1, 4), (6, 8), start=100_000)])
    write_file(tmp_path / "a.npz", data)
    again = read_file(tmp_path / "a.npz")
    assert again.key() == data.key()
    assert again.spans == (((2, 5),), ((1, 4), (6, 8)))
    assert again[1].ids.tolist() == list(range(100_000, 100_009))
    assert np.load(tmp_path / "a.npz")["last"].tolist() == [4, -1]


def test_an_end_of_turn_that_is_not_stored_is_appended(tmp_path: Path) -> None:
    """The shared data leaves the last end-of-turn token out and says so in `last`; the head must learn it."""
    data = read_file(stored(tmp_path / "a.npz"))
    assert data[0].ids.tolist() == [0, 1, 2, 3, 7]
    assert data[0].spans == ((2, 5),)
    assert data[1].ids.tolist() == [4, 5, 6, 7, 8, 9]


def test_a_span_beyond_a_reply_that_was_cut_is_shortened(tmp_path: Path) -> None:
    """Without an end-of-turn token there is nothing to learn at that place."""
    data = read_file(stored(tmp_path / "a.npz", last=np.array([-1, -1])))
    assert data[0].ids.tolist() == [0, 1, 2, 3]
    assert data[0].spans == ((2, 4),)


def test_cutting_keeps_spans_inside() -> None:
    """A long conversation is used as far as it goes."""
    assert talk(10, (2, 4), (6, 10)).cut(8).spans == ((2, 4), (6, 8))
    assert talk(10, (2, 4), (6, 10)).cut(5).spans == ((2, 4),)


def test_reply_mask() -> None:
    """Frequency counts and coverage look at replies only."""
    mask = DataSet.of([talk(3, (1, 3)), talk(4, (0, 1))]).reply_mask()
    assert mask.tolist() == [False, True, True, True, False, False, False]


@pytest.mark.parametrize(
    "changes",
    [
        {"off": np.array([0, 4, 11])},
        {"off": np.array([0, 0, 10])},
        {"last": np.array([1])},
        {"spans": np.array([[0, 2, 6]])},
        {"spans": np.array([[2, 0, 1]])},
        {"spans": np.array([[0, 3, 3]])},
        {"ids": np.zeros(10)},
        {"off": None},
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Wrong spans would teach nonsense without an error."""
    path = stored(tmp_path / "bad.npz", **changes)
    with pytest.raises(ConfigError, match=r"bad\.npz"):
        read_file(path)


def test_broken_bytes_and_missing_files(tmp_path: Path) -> None:
    """One sentence, whatever is in the file."""
    good = stored(tmp_path / "a.npz").read_bytes()
    for content in (b"", b"text", good[: len(good) // 2], good[:200] + b"\xff" * 50 + good[250:]):
        (tmp_path / "b.npz").write_bytes(content)
        with pytest.raises(ConfigError, match=r"b\.npz"):
            read_file(tmp_path / "b.npz")
    with pytest.raises(ConfigError, match="does not exist"):
        read_file(tmp_path / "none.npz")


def test_load_data_joins_files_and_checks_the_vocabulary(tmp_path: Path) -> None:
    """Text of another model must not train this one."""
    paths = [stored(tmp_path / "a.npz"), stored(tmp_path / "b.npz")]
    assert len(load_data(paths, 10, 100)) == 4
    assert load_data(paths, 10, 3).lengths.tolist() == [3, 3, 3, 3]
    with pytest.raises(ConfigError, match="another model"):
        load_data(paths, 9, 100)
    with pytest.raises(ConfigError, match="no conversations"):
        load_data([], 9, 100)


@pytest.mark.skipif(not SHARED.is_file(), reason="the shared data is not beside this repository (../shared/data)")
def test_the_shared_data_reads() -> None:
    """What its README promises."""
    data = load_data([SHARED], 49152, 2048)
    assert len(data) == 4554
    assert data.tokens == 1_445_493 + sum(data[i].closed and data[i].ids[-1] == 2 for i in range(len(data)))
    assert 0.79 < data.reply_mask().mean() < 0.81
