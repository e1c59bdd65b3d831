from __future__ import annotations

import random
import time

import pytest

from app.chat.block_splitter import BlockSplitter
from app.chat.markdown import Block, blocks
from tests.app.chat.markdown_sample import SAMPLE


def joined(found: list[Block]) -> list[Block]:
    """Neighbouring text blocks as one: how many widgets hold a text does not matter."""
    out: list[Block] = []
    for block in found:
        if out and block.kind == out[-1].kind == "text":
            out[-1] = Block("text", out[-1].content + block.content)
        else:
            out.append(block)
    return out


@pytest.mark.parametrize("seed", range(30))
def test_streaming_ends_like_the_whole_text(seed: int) -> None:
    """Wherever the stream is cut, finished parts and tail give the blocks of the whole text, and none is lost."""
    rng = random.Random(seed)
    splitter, finished, at = BlockSplitter(), [], 0
    while at < len(SAMPLE):
        step = rng.randint(1, 12)
        part = splitter.feed(SAMPLE[at : at + step])
        at += step
        finished += [part] if part else []
    assert "".join(finished) + splitter.tail == SAMPLE
    assert len(finished) > 5
    env: dict[str, object] = {}
    streamed = [b for part in [*finished, splitter.tail] for b in blocks(part, env)]
    assert joined(streamed) == joined(blocks(SAMPLE))


def test_an_open_fence_is_code_at_once_and_its_end_is_never_shown() -> None:
    """Code looks like code from its first line; the closing fence does not flash up."""
    splitter, seen = BlockSplitter(), []
    for character in "\n\n```py\na = `1`\n\nb = 2\n``` \n\nafter":
        splitter.feed(character)
        code = splitter.code()
        if code is not None:
            seen.append(code[1])
            assert code[0] == "py"
    assert all("a = `1`\n\nb = 2\n".startswith(text) for text in seen)
    assert len(seen) > 10
    assert splitter.tail == "after"
    assert splitter.code() is None


@pytest.mark.alone
@pytest.mark.parametrize("line", ["1. item\n", "- item\n", "| a | b |\n", "words in a line\n", "> quote\n", "[a]: b\n"])
def test_long_blocks_stream_without_parsing_everything_at_every_line(line: str) -> None:
    """The time of a list, table or paragraph grows with its length, not with its square."""
    took = []
    for count in (300, 2400):
        splitter = BlockSplitter()
        start = time.thread_time()
        for _ in range(count):
            splitter.feed(line)
        took.append(time.thread_time() - start)
    assert took[1] < took[0] * 8 * 3 + 0.1
    splitter.feed("\n# Next\n\nlast\n")
    assert splitter.tail == "last\n"


@pytest.mark.alone
def test_parsing_is_quick_enough_for_every_line_of_a_stream() -> None:
    """A long reply is split while it streams without holding the window: far below a frame per line."""
    splitter, worst = BlockSplitter(), 0.0
    for line in (SAMPLE * 8).splitlines(keepends=True):
        start = time.thread_time()
        splitter.feed(line)
        worst = max(worst, time.thread_time() - start)
    assert worst < 0.05
