"""Lookahead as a drafter: what it proposes from a text, without any model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.strategies.base import Proposal
from engine.strategies.lookahead import Lookahead
from engine.token_tree import Candidates

CONFIG = EngineConfig(speculative_type="lookahead", draft_predict_length=4)
NOTHING = np.zeros((0, 0), np.float32)


def encode(text: str) -> list[int]:
    """A letter is a token."""
    return [ord(c) for c in text]


def lookahead(prompt: str, folder: Path = Path(), **changes: Any) -> Lookahead:
    """A drafter that has read `prompt` but for its last letter, which is the root."""
    drafter = Lookahead(folder, encode)
    drafter.begin(encode(prompt[:-1]), CONFIG.with_(**changes))
    drafter.extend(0, NOTHING, encode(prompt[:-1]), encode(prompt[1:]))
    return drafter


def levels(drafter: Lookahead, root: str, position: int, *, most: int = 99, **changes: Any) -> tuple[list[Any], Any]:
    """(candidates after every level, the proposal)."""
    run = drafter.draft(ord(root), position, CONFIG.with_(**changes), most, most)
    found: list[Candidates] = []
    while True:
        try:
            found.append(next(run))
        except StopIteration as done:
            return found, done.value


def proposal(text: str, **changes: Any) -> Proposal | None:
    """What is proposed after the last letter of `text`."""
    return levels(lookahead(text, **changes), text[-1], len(text) - 1, **changes)[1]


def chain(found: Proposal | None) -> str:
    """The verified tokens as letters; "" for no proposal."""
    return "" if found is None else "".join(map(chr, found.rows.draft_tokens[1:]))


def test_it_copies_what_followed_before() -> None:
    """A chain of `draft_predict_length`; ids, depths and ranks as the records need them."""
    found = proposal("the cat sat; the c")
    assert found is not None
    assert chain(found) == "at s"
    assert found.rows.position_ids.tolist() == [0, 1, 2, 3, 4]
    assert found.candidates.rank.tolist() == [0] * 5
    assert found.candidates.active.tolist() == [True] * 4 + [False]


def test_candidates_grow_level_by_level() -> None:
    """For who steps through a round."""
    text = "the cat sat; the c"
    found, last = levels(lookahead(text), "c", len(text) - 1)
    assert [len(c.parent) for c in found] == [2, 3, 4, 5]
    assert last is not None


def test_probabilities_are_shares_of_the_score() -> None:
    """After "ab": c once after two letters (2), d twice after one (2), and 1 for anything else."""
    found = proposal("abcxbdxbd..ab", eagle_topk=2, draft_predict_length=2)
    assert found is not None
    first = found.candidates.logprob[1:3]
    # After "b": c, d, d. After "ab": c. Scores c 1·2 = 2, d 2·1 = 2.
    assert [chr(t) for t in found.candidates.token[1:3]] == ["c", "d"]
    np.testing.assert_allclose(first, [math.log(2 / 5)] * 2)


def test_a_tree_holds_several_continuations() -> None:
    """By hand: c and x 4 of 9 each, then d 6 of 7 and y 4 of 5, so all four are verified; as a chain c alone is."""
    text = "abcd. abcd. abxy. ab"
    one, two = proposal(text), proposal(text, eagle_topk=2)
    assert chain(one) == "cd. "
    assert two is not None
    kept = {(int(d), chr(t)) for d, t in zip(two.rows.position_ids[1:], two.rows.draft_tokens[1:], strict=True)}
    assert kept == {(1, "c"), (1, "x"), (2, "d"), (2, "y")}
    assert two.rows.parents.tolist() == [-1, 0, 0, 1, 2]
    np.testing.assert_allclose(np.exp(two.rows.cum_logprobs[1:]), [4 / 9, 4 / 9, 24 / 63, 16 / 45])


def test_every_sibling_is_another_token_and_scores_fall() -> None:
    """Also across key lengths: the walk looks a child up by its token."""
    rng = np.random.default_rng(1)
    text = "".join(chr(97 + i) for i in rng.integers(0, 4, 200))
    found = proposal(text, eagle_topk=4, draft_predict_length=20)
    assert found is not None
    c = found.candidates
    for parent in set(c.parent[1:].tolist()):
        children = np.flatnonzero(c.parent == parent)
        assert len(children) <= 4
        assert len(set(c.token[children])) == len(children)
        assert c.rank[children].tolist() == list(range(len(children)))
        assert (np.diff(c.logprob[children]) <= 0).all()
        assert np.exp(c.logprob[children]).sum() < 1
    assert (np.diff(c.depth) >= 0).all()
    assert len(found.rows.nodes) == 21


def test_nothing_known_is_no_proposal() -> None:
    """A letter seen for the first time, and an empty conversation."""
    assert proposal("abcz") is None
    assert proposal("ab") is None


@pytest.mark.parametrize(("strictness", "drafts"), [("low", True), ("medium", False), ("high", False)])
def test_strictness_gates_the_first_token(strictness: str, drafts: bool) -> None:
    """After "b": c, c, d, e. The share of c is 50 %, and medium asks for 60."""
    assert bool(proposal("bcbcbdbezb", draft_match_strictness=strictness, ngram_match_maxlen=1)) == drafts


def test_strictness_does_not_ask_again() -> None:
    """Only the first token of a draft must be sure: what follows comes with it (MNN)."""
    found = proposal("xb. xb. xb. bcbd xb", draft_match_strictness="high", ngram_match_maxlen=1, draft_predict_length=3)
    assert found is None
    found = proposal("xb. xb, xb; bcbd x", draft_match_strictness="high", ngram_match_maxlen=1, draft_predict_length=2)
    assert chain(found)[0] == "b"
    assert len(chain(found)) == 2


def test_strictness_has_no_meaning_with_fcfs() -> None:
    """As in MNN: first come, first served."""
    text = "bcbcbdbezb"
    for strictness in ("low", "medium", "high"):
        found = proposal(text, draft_match_strictness=strictness, draft_selection_rule="fcfs", ngram_match_maxlen=1)
        assert chain(found).startswith("c")


def test_punctuation_is_always_strict() -> None:
    """Nearly anything may follow a comma: 3 of 4 is not sure enough, whatever the setting says (MNN)."""
    text = "a,b a,b a,b a,c "
    assert proposal(text + ",", ngram_match_maxlen=1) is None
    assert proposal(text.replace(",", "-") + "-", ngram_match_maxlen=1) is not None
    assert proposal("a,b a,b a,b ,", ngram_match_maxlen=1) is not None


def test_the_rules_differ() -> None:
    """The frequent one, or the first one."""
    text = "ab1. ab2. ab2. ab"
    assert chain(proposal(text, ngram_match_maxlen=2))[0] == "2"
    assert chain(proposal(text, ngram_match_maxlen=2, draft_selection_rule="fcfs"))[0] == "1"


def test_longest_key_is_a_setting() -> None:
    """With one letter of context the frequent continuation wins, with three the right one."""
    text = "xyab1 ab2 ab2 ab2 ab2 ab2 ab2 ab2 xyab"
    assert chain(proposal(text, ngram_match_maxlen=1))[0] == "2"
    assert chain(proposal(text, draft_selection_rule="fcfs", ngram_match_maxlen=4))[0] == "1"


def test_the_reply_is_learnt_only_when_asked() -> None:
    """`ngram_update`: MNN's default drafts from the prompt alone."""
    prompt, reply = "qrs ", "uvw uv"
    drafter = lookahead(prompt + reply[0])
    for i in range(len(reply) - 1):
        drafter.extend(len(prompt) + i, NOTHING, encode(reply[i]), encode(reply[i + 1]))
    at = len(prompt + reply) - 1
    assert levels(drafter, "v", at)[1] is None
    assert chain(levels(drafter, "v", at, ngram_update=True)[1]) == "w uv"


def test_a_file_is_drafted_from_too(tmp_path: Path) -> None:
    """The conversation counts first; the file is found even where the conversation is silent."""
    (tmp_path / "lookup_file.txt").write_text("hello world")
    drafter = lookahead("say hell", tmp_path)
    assert chain(levels(drafter, "l", 7)[1]) == "o wo"
    assert levels(drafter, "l", 7, lookup_file="")[1] is None
    (tmp_path / "more.txt").write_text("hells bells")
    assert chain(levels(drafter, "l", 7, lookup_file="more.txt")[1]) == "s be"


def test_a_wrong_file_is_said_at_the_beginning(tmp_path: Path) -> None:
    """Before the prompt is read, and only if lookahead is what was asked for."""
    drafter = Lookahead(tmp_path, encode)
    with pytest.raises(ConfigError, match=r"nowhere\.txt"):
        drafter.begin([1], CONFIG.with_(lookup_file="nowhere.txt"))
    drafter.begin([1], CONFIG.with_(lookup_file="nowhere.txt", speculative_type="eagle"))


@pytest.mark.parametrize(("most", "length"), [(0, 0), (1, 1), (3, 3), (99, 4)])
def test_drafts_fit_what_is_left(most: int, length: int) -> None:
    """Row 27: the reply's limit and the context bound both levels and nodes."""
    text = "abcdefgh abc"
    found = levels(lookahead(text), "c", len(text) - 1, most=most)[1]
    assert len(chain(found)) == length


def test_text_is_replaced_and_forgotten() -> None:
    """A correction replaces what was provisional; a cancelled turn leaves nothing."""
    drafter = lookahead("abc abd ab")
    drafter.extend(9, NOTHING, encode("b"), encode("c"))
    drafter.extend(9, NOTHING, encode("b"), encode("d"))
    assert levels(drafter, "c", 10)[1] is None
    assert levels(drafter, "d", 10)[1] is not None
    drafter.truncate(5)
    assert drafter.length == 5
    assert levels(drafter, "d", 10)[1] is None
    with pytest.raises(ValueError, match="ends at 5"):
        drafter.extend(6, NOTHING, [1], [2])


def test_a_new_turn_replaces_all_text() -> None:
    """After prefix reuse only new rows are run, but the whole prompt is known."""
    drafter = lookahead("first words, first")
    drafter.begin(encode("other words. other "), CONFIG)
    drafter.extend(18, NOTHING, encode(" "), encode("w"))
    assert chain(levels(drafter, "w", 19)[1]) == "ords"
