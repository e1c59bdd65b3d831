"""The user's file for lookahead: read once, said in one sentence when it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.lookup_file import LIMIT, LookupFile


class Encoder:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, text: str) -> list[int]:
        self.calls += 1
        return [ord(c) for c in text]


def read(folder: Path, name: str) -> list[int]:
    """Tokens of a file, read afresh."""
    return LookupFile(folder, Encoder()).tokens(name).tolist()


def test_paths_start_at_the_model_folder(tmp_path: Path) -> None:
    """As in MNN; a byte order mark of Windows is no text."""
    (tmp_path / "notes.txt").write_bytes(b"\xef\xbb\xbfab")
    assert read(tmp_path, "notes.txt") == read(Path("/"), str(tmp_path / "notes.txt")) == [97, 98]


def test_only_the_default_name_may_be_missing(tmp_path: Path) -> None:
    """Without a file there is only the conversation; a file that was named must be there."""
    assert read(tmp_path, "") == read(tmp_path, "lookup_file.txt") == []
    (tmp_path / "lookup_file.txt").write_text("x")
    assert read(tmp_path, "lookup_file.txt") == [120]
    with pytest.raises(ConfigError, match=r"lookup_file .*other\.txt cannot be read \(No such file.*give the path"):
        read(tmp_path, "other.txt")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    """A folder, bytes that are not UTF-8, a file too large to be scanned every round."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path, ".")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read(tmp_path, "bytes")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LIMIT + 1)
    with pytest.raises(ConfigError, match=r"1\.0 MB: give a text of at most 1 MB"):
        read(tmp_path, "large")


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    """It is asked for every round."""
    encode = Encoder()
    file = LookupFile(tmp_path, encode)
    (tmp_path / "a").write_text("a")
    assert file.tokens("a").tolist() == file.tokens("a").tolist() == [97]
    assert encode.calls == 1
    (tmp_path / "a").write_text("b")
    os.utime(tmp_path / "a", ns=(1, 1))
    assert file.tokens("a").tolist() == [98]
    assert file.tokens("").tolist() == []
    assert encode.calls == 2
