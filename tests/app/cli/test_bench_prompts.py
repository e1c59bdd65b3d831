from __future__ import annotations

from pathlib import Path

import pytest

from app.cli.bench import choose
from app.cli.bench_prompts import BUILT_IN, Prompt, PromptFileError, read_prompts


def written(tmp_path: Path, text: str) -> Path:
    """A prompts file."""
    path = tmp_path / "prompts.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_both_forms_are_read(tmp_path: Path) -> None:
    """Spec-Bench's lines and plain ones; empty lines do not count."""
    path = written(tmp_path, '{"id": 81, "category": "writing", "turns": ["a", "b"]}\n\n{"prompt": "c"}\n')
    assert read_prompts(path) == [Prompt("81", "writing", "a"), Prompt("3", "", "c")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no prompts"),
        ("{", "line 1 is not JSON"),
        ('{"prompt": "a"}\n[1]', "line 2 has no prompt"),
        ('{"turns": []}', "line 1 has no prompt"),
        ('{"turns": [1]}', "line 1 has no prompt"),
        ('{"prompt": "  "}', "line 1 has no prompt"),
        ('{"id": 1, "prompt": "a"}\n{"id": "1", "prompt": "b"}', "the id '1' twice"),
    ],
)
def test_broken_files_are_one_sentence(tmp_path: Path, text: str, expected: str) -> None:
    """File, line, and what is missing."""
    path = written(tmp_path, text)
    with pytest.raises(PromptFileError, match=expected) as error:
        read_prompts(path)
    assert str(path) in str(error.value)


def test_unreadable_files_are_one_sentence(tmp_path: Path) -> None:
    """Missing, or not text."""
    with pytest.raises(PromptFileError, match="No such file"):
        read_prompts(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PromptFileError, match="not UTF-8"):
        read_prompts(tmp_path / "binary")


def test_our_own_prompts_have_ids_and_categories() -> None:
    """Results are keyed by id."""
    assert len({p.id for p in BUILT_IN}) == len(BUILT_IN) >= 10
    assert all(p.category and p.text for p in BUILT_IN)


def test_a_limit_is_spread_over_the_file() -> None:
    """The first ten of a sorted file would all be of one category."""
    prompts = [Prompt(str(i), "", "x") for i in range(10)]
    assert [p.id for p in choose(prompts, 5)] == ["0", "2", "4", "6", "8"]
    assert choose(prompts, None) == prompts
    assert choose(prompts, 99) == prompts
