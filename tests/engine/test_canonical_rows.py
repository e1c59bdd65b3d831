"""Rows in the cache that are not those of a prefill: an exact turn reads them again, any other turn reuses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.model import Model
from engine.session import ChatSession
from engine.trace import Event, PrefillProgress, Round, Turn
from tests.engine.conftest import Loaded
from tests.tiny import Tiny, TinySource
from tests.turns import ASK, COPY, GREEDY, MTP, PLAIN, TREE, WARM, check, ids, user

PRECISIONS = ("float32", "int8", "int8-rowwise", "int8-mixed")
BRITTLE = TinySource(ties=0.01, brittle=True)
LENGTH = 40
TWO_ROWS = PLAIN.with_(max_new_tokens=LENGTH)
ONE_ROW = TWO_ROWS.with_(plain_rows=1)
EXACT = TREE.with_(max_new_tokens=LENGTH)
LOOSE = EXACT.with_(exact=False)
CHAIN = LOOSE.with_(eagle_topk=1)
BEFORE = {
    "one row": [ONE_ROW],
    "loose": [LOOSE],
    "one row, then exact": [ONE_ROW, EXACT],
    "exact, then one row": [EXACT, ONE_ROW],
    "exact, then loose": [EXACT, LOOSE],
}


class Talk(ChatSession):
    """A conversation in tokens, so that a reply always comes back as the tokens it was."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.tokens = model.tokenizer.encode_chat(user(ASK))

    def _fit(self, messages: object, prefix: str) -> tuple[str, list[int], int]:
        return "", list(self.tokens), 0

    def turn(
        self,
        *configs: EngineConfig,
        sampling: SamplingConfig = GREEDY,
        until: Callable[[Event], bool] = lambda event: False,
    ) -> Turn:
        """A turn, stopped at the first event for which `until` holds; `configs` take turns, four rounds each."""
        self.config, turn = configs[0], Turn()
        for event in self.generate([], sampling):
            turn.add(event)
            if isinstance(event, Round):
                self.config = configs[(event.index + 1) // 4 % len(configs)]
            if turn.end is None and until(event):
                self.stop()
        check(turn)
        self.tokens += ids(turn)
        return turn

    def ask(self, text: str = " and the rest") -> None:
        """More words from the user."""
        self.tokens += self.model.tokenizer.encode(text)

    @property
    def rows(self) -> np.ndarray:
        """Committed keys and values of the target, [2·layers, kv_heads, L, head_dim]."""
        cache = self.model.target.cache
        return cache.data[:, :, : cache.length].copy()


def fresh(model: Model, tokens: list[int], sampling: SamplingConfig = GREEDY) -> tuple[tuple[int, ...], np.ndarray]:
    """The promise: (reply to `tokens`, rows) of plain decoding with two rows in a new session."""
    talk = Talk(model)
    talk.tokens = list(tokens)
    return ids(talk.turn(TWO_ROWS, sampling=sampling)), talk.rows


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_an_exact_turn_stands_on_canonical_rows(
    tiny: Loaded, precision: str, before: list[EngineConfig], sampling: SamplingConfig
) -> None:
    """Whatever the turn before left, also by switches in its middle: text and rows are those of a new session."""
    model = tiny(Tiny(precision=precision, source=BRITTLE, mtp="teacher"))
    for after in (EXACT, TWO_ROWS, COPY, MTP):
        talk = Talk(model)
        first = talk.turn(*before, sampling=sampling)
        left, canonical = talk.rows, model.target.cache.canonical
        talk.ask()
        prompt = list(talk.tokens)
        turn = talk.turn(after.with_(max_new_tokens=LENGTH), sampling=sampling)
        found = talk.rows
        want, clean = fresh(model, prompt, sampling)
        assert ids(turn) == want
        assert np.array_equal(found, clean)
        assert np.array_equal(left[:, :, :canonical], clean[:, :, :canonical])
        assert turn.start.reused_tokens == canonical
        assert turn.prefill.tokens == len(prompt) - canonical
        assert first.start.prompt_tokens <= canonical < left.shape[2]


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_rows_behind_the_canonical_ones_do_differ(tiny: Loaded, before: list[EngineConfig]) -> None:
    """The test above can fail: what it reads again holds other bits than a prefill gives."""
    model = tiny(Tiny(source=BRITTLE))
    talk = Talk(model)
    talk.turn(*before)
    left, canonical = talk.rows, model.target.cache.canonical
    clean = fresh(model, talk.tokens)[1]
    assert not np.array_equal(left[:, :, canonical:], clean[:, :, canonical : left.shape[2]])


FULL = [
    *((a, b) for a in (ONE_ROW, LOOSE, EXACT) for b in (ONE_ROW, LOOSE)),
    *((a, b) for a in (EXACT, TWO_ROWS, CHAIN) for b in (EXACT, TWO_ROWS)),
]


@pytest.mark.parametrize("configs", FULL, ids=lambda cs: ", ".join(name(c) for c in cs))
def test_nothing_is_read_again_without_need(brittle: Model, configs: Sequence[EngineConfig]) -> None:
    """Who does not ask for exactness pays nothing, nor does who always asks; loose chains leave canonical rows too."""
    talk = Talk(brittle)
    held = 0
    for config in (*configs, configs[-1]):
        assert talk.turn(config).start.reused_tokens == held
        held = brittle.target.cache.length
        assert held == len(talk.tokens) - 1
        talk.ask()


def name(config: EngineConfig) -> str:
    """What a test calls these settings."""
    names = {ONE_ROW: "one row", TWO_ROWS: "two rows", EXACT: "exact", LOOSE: "loose", CHAIN: "loose chain"}
    return names[config]


def test_without_a_head_nothing_is_read_again(tiny: Loaded) -> None:
    """A strategy that falls back on plain decoding with one row promises nothing, so it costs nothing."""
    model = tiny(Tiny(head="none"))
    talk = Talk(model)
    talk.turn(EXACT)
    held = model.target.cache.length
    talk.ask()
    assert talk.turn(EXACT).start.reused_tokens == held
    assert model.target.cache.canonical < held


def test_rows_are_read_again_once(brittle: Model) -> None:
    """A prompt read behind rows that are not canonical is not canonical either; one exact turn mends all of it."""
    talk = Talk(brittle)
    first = talk.turn(ONE_ROW)
    for _ in range(2):
        talk.ask()
        talk.turn(ONE_ROW)
    talk.ask()
    assert talk.turn(EXACT).start.reused_tokens == first.start.prompt_tokens
    held = brittle.target.cache.length
    talk.ask()
    assert talk.turn(EXACT).start.reused_tokens == held
    assert brittle.target.cache.canonical == brittle.target.cache.length


@pytest.mark.parametrize("before", [ONE_ROW, LOOSE], ids=name)
def test_a_stopped_reply_is_continued_exactly(brittle: Model, before: EngineConfig) -> None:
    """Stopped in the reply, then while its rows are read again, then continued: as if nothing had been before."""
    talk = Talk(brittle)
    cut = talk.turn(before, until=lambda e: isinstance(e, Round) and e.index == 6)
    assert len(ids(cut)) >= 7
    prompt, small = list(talk.tokens), EXACT.with_(prefill_chunk=16)
    talk.ask(" x" * 40)
    talk.turn(small, until=lambda e: isinstance(e, PrefillProgress) and e.done >= 16)
    assert brittle.target.cache.canonical == brittle.target.cache.length
    talk.tokens = list(prompt)
    want, clean = fresh(brittle, prompt)
    assert ids(talk.turn(small)) == want
    assert np.array_equal(talk.rows, clean)


def test_a_last_chunk_of_one_token_is_canonical(brittle: Model) -> None:
    """Reading again may end with a single token: its pass is padded, so its row counts, and holds a prefill's bits."""
    talk = Talk(brittle)
    first = talk.turn(ONE_ROW)
    while (len(talk.tokens) - first.start.prompt_tokens) % 16 != 1:
        talk.ask("!")
    prompt = list(talk.tokens)
    turn = talk.turn(EXACT.with_(prefill_chunk=16))
    assert turn.prefill.tokens % 16 == 1
    assert brittle.target.cache.canonical == brittle.target.cache.length
    want, clean = fresh(brittle, prompt)
    assert ids(turn) == want
    assert np.array_equal(talk.rows, clean)
