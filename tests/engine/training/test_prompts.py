"""What the user says: varied, whole, and from a file where one is given."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.training.prompts import TASKS, PromptMaker, read_prompts

PASSAGE = "The old bridge over the river {was} closed on Monday. " * 8
CODE = "```python\ndef add(a, b):\n    return {'sum': a + b}\n```"


def test_half_of_the_conversations_are_the_model_s_own() -> None:
    """Instructions that the model samples keep the text close to what it was trained on."""
    maker = PromptMaker(0)
    outlines = [maker.outline() for _ in range(2000)]
    own = sum(outline.user[0] is None for outline in outlines)
    greedy = sum(outline.greedy for outline in outlines)
    turns = Counter(len(outline.user) for outline in outlines)
    assert 900 < own < 1100
    assert 1100 < greedy < 1300
    assert set(turns) == {1, 2, 3}


def test_every_task_can_be_made_and_leaves_no_slot_open() -> None:
    """A typing error in a template of the data file would stop synthesis after hours."""
    maker = PromptMaker(1)
    for reply in (PASSAGE, CODE):
        maker.keep(reply)
    made = [text for _ in range(6000) for text in maker.outline().user if text is not None]
    open_slots = [text for text in made if "{" in text.replace("{was}", "").replace("{'sum'", "")]
    assert not open_slots
    assert len(set(made)) > 0.45 * len(made)
    assert any(PASSAGE[:100] in text for text in made)
    assert any(CODE in text for text in made)


def test_every_template_fills() -> None:
    """Each one, not only those that chance picks."""
    tasks = json.loads(TASKS.read_text(encoding="utf-8"))
    filled = {"templates", "passage_makers", "code_templates", "math", "reasoning", "extract", "role_asks"}
    slots = dict.fromkeys("tuTUnmoabcdepqQrge", "x")
    for key, templates in tasks.items():
        assert len(templates) == len(set(templates)), key
        if key in filled or "{" in "".join(templates):
            assert all(template.format(**slots) for template in templates), key


def test_the_same_seed_gives_the_same_prompts() -> None:
    """A run can be repeated."""
    first, second, other = PromptMaker(3), PromptMaker(3), PromptMaker(4)
    sample = [first.outline() for _ in range(50)]
    assert sample == [second.outline() for _ in range(50)]
    assert sample != [other.outline() for _ in range(50)]


def test_a_prompts_file(tmp_path: Path) -> None:
    """Plain lines and the JSON of bench files."""
    path = tmp_path / "p.txt"
    path.write_text('What is tea?\n\n{"prompt": "Say hi."}\n{"turns": ["One", "Two"]}\n', encoding="utf-8")
    prompts = read_prompts(path)
    assert prompts == ("What is tea?", "Say hi.", "One")
    maker = PromptMaker(0, prompts)
    firsts = [maker.outline().user[0] for _ in range(400)]
    assert 60 < sum(first in prompts for first in firsts if first) < 140


def test_the_share_of_a_prompts_file_and_its_order() -> None:
    """Every prompt comes once before any comes twice: what is written twice is dropped as a near-duplicate."""
    prompts = tuple(f"Question {i}?" for i in range(50))
    maker = PromptMaker(0, prompts, share=1.0)
    firsts = [maker.outline().user[0] for _ in range(100)]
    assert set(firsts[:50]) == set(firsts[50:]) == set(prompts)
    assert firsts[:50] != firsts[50:]
    none = PromptMaker(0, prompts, share=0.0)
    assert not any(none.outline().user[0] in prompts for _ in range(100))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\xfa", b'{"prompt": 3}', b'{"prompt"', b'{"turns": []}'])
def test_a_broken_prompts_file_is_named(tmp_path: Path, content: bytes) -> None:
    """One sentence with the file."""
    (tmp_path / "p.txt").write_bytes(content)
    with pytest.raises(ConfigError, match=r"p\.txt"):
        read_prompts(tmp_path / "p.txt")
    with pytest.raises(ConfigError, match="does not exist"):
        read_prompts(tmp_path / "none.txt")
