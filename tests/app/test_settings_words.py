"""The words under the sliders: right numbers, and an explanation for every combination that means nothing."""

import pytest

from app.engine_settings import ENGINE_KEYS
from app.settings_words import (
    CHOICE_KEYS,
    LOOKAHEAD_KEYS,
    MAIN_KEYS,
    MORE_KEYS,
    NAMES,
    SWITCHES,
    annotation,
    hints,
    resting,
    unused,
)
from engine import CHAT_SAMPLING, CHOICES, RANGES, EngineConfig, SamplingConfig

WARM = SamplingConfig(temperature=0.8)


def tree(k, d, n, kind="eagle"):
    """A config."""
    return EngineConfig(speculative_type=kind, eagle_topk=k, eagle_depth=d, draft_predict_length=n)


def test_every_setting_with_a_range_has_a_slider_and_a_name():
    """A setting added to the engine must not be forgotten in the window; the seed is no quantity to slide."""
    assert set(CHOICE_KEYS) == set(CHOICES) | set(SWITCHES)
    assert {*MAIN_KEYS, *MORE_KEYS, "seed"} == set(RANGES) | set(CHOICE_KEYS)
    assert {*NAMES, "seed"} == set(RANGES) | set(CHOICE_KEYS)


def test_every_engine_setting_can_be_reached():
    """Those without a field have their own place in the window, or name a file."""
    elsewhere = {"speculative_type", "lookup_file"}
    assert set(ENGINE_KEYS) - elsewhere <= set(NAMES)


@pytest.mark.parametrize(
    ("kind", "rest"),
    [
        ("eagle", set()),
        (
            "plain",
            {
                "eagle_topk",
                "eagle_depth",
                "draft_predict_length",
                "eagle_lookup",
                "eagle_merge",
                "draft_min_probability",
            },
        ),
        ("mtp", {"eagle_topk", "eagle_depth", "eagle_lookup", "eagle_merge"}),
        ("lookahead", {"eagle_depth", "eagle_lookup", "eagle_merge"}),
    ],
)
def test_what_rests_under_a_strategy(kind, rest):
    """A slider that does nothing is greyed; lookahead's own settings rest under all others."""
    own = set() if kind == "lookahead" else set(LOOKAHEAD_KEYS)
    assert resting(tree(4, 5, 10, kind)) == rest | own


@pytest.mark.parametrize("kind", ["eagle", "plain", "mtp", "lookahead"])
def test_a_round_used_no_setting_that_rests(kind):
    """Nor the rows of a pass that only plain decoding asks; its slider works all the same, for a model without head."""
    assert unused(kind) == resting(tree(4, 5, 10, kind)) | (set() if kind == "plain" else {"plain_rows"})


@pytest.mark.parametrize(("kind", "said"), [("mtp", "draft passes = 9"), ("lookahead", "draft passes = 0")])
def test_annotation_knows_other_drafters(kind, said):
    """A chain head runs once per node and lookahead never; eagle's pool would be a lie."""
    config = tree(4, 2, 9, kind)
    assert said in annotation(config)
    assert "pool" not in annotation(config)
    assert hints(config, CHAT_SAMPLING) == []


def test_annotation_counts_as_the_engine_does():
    """k + (d−1)k² with k 4, d 5 is 68, of which 10 are verified."""
    text = annotation(tree(4, 5, 10))
    assert "4 + 4·16 = 68 candidates" in text
    assert "min(10, 68) = 10 nodes" in text
    assert "draft passes = 5" in text


def test_annotation_of_plain_decoding():
    """Tree numbers under plain decoding would be a lie."""
    assert "pool" not in annotation(tree(4, 5, 10, ""))
    assert "pool" not in annotation(tree(4, 5, 10, "plain"))


@pytest.mark.parametrize(
    ("config", "word"),
    [(tree(1, 3, 9), "chain"), (tree(2, 2, 64), "above 6 "), (tree(4, 8, 3), "level 3")],
    ids=["chain", "more than the pool", "shallower than its passes"],
)
def test_meaningless_trees_are_explained(config, word):
    """Explained, not forbidden."""
    (hint,) = hints(config, WARM)
    assert word in hint


@pytest.mark.parametrize("config", [tree(1, 3, 3), tree(4, 5, 10), tree(2, 2, 6), tree(1, 3, 9, "")])
def test_sensible_trees_are_not_commented(config):
    """A hint that is always there is not read."""
    assert hints(config, WARM) == []


def test_annotation_promises_no_more_than_is_drafted():
    """With a least probability the numbers are limits; copies are longer than the tree and cost no pass."""
    sure = tree(4, 5, 10).with_(draft_min_probability=0.1, eagle_lookup=0)
    assert "verified ≤ min(10, 68) = 10 nodes    draft passes ≤ 5 a round" in annotation(sure)
    assert "copied" not in annotation(sure)
    assert "where text is copied: up to 16 nodes, no pass" in annotation(sure.with_(eagle_lookup=2))
    joined = annotation(sure.with_(eagle_lookup=2, eagle_merge=True))
    assert "copied text joins; 10 tokens and more go alone: up to 16 nodes, no pass" in joined
    assert "joins" not in annotation(tree(2, 2, 3).with_(eagle_lookup=3, eagle_merge=True))
    assert "chain of ≤ 9 nodes    draft passes ≤ 9" in annotation(tree(4, 2, 9, "mtp").with_(draft_min_probability=0.1))


@pytest.mark.parametrize(
    ("config", "word"),
    [
        (tree(4, 5, 10).with_(eagle_merge=True, eagle_lookup=0), "nothing is copied"),
        (tree(2, 2, 3).with_(eagle_merge=True, eagle_lookup=3), "eagle_merge does nothing"),
        (tree(4, 5, 10).with_(draft_min_probability=0.6), "a single node"),
        (tree(4, 5, 10).with_(draft_min_probability=0.3), "level 1"),
        (tree(4, 5, 10, "mtp").with_(draft_min_probability=0.3), "after one token"),
    ],
    ids=["no copies", "full of the copy", "one node", "one level", "one token"],
)
def test_chances_and_copies_that_mean_nothing_are_explained(config, word):
    """As for the shape of the tree: allowed, and said."""
    (hint,) = hints(config, WARM)
    assert word in hint


@pytest.mark.parametrize(
    "config",
    [
        tree(4, 5, 10).with_(draft_min_probability=0.25),
        tree(4, 1, 4).with_(draft_min_probability=0.3),
        tree(2, 2, 3).with_(eagle_merge=True, eagle_lookup=2),
        tree(4, 5, 10, "").with_(draft_min_probability=0.6, eagle_merge=True),
        tree(1, 5, 10, "lookahead").with_(draft_min_probability=0.6),
    ],
)
def test_sensible_chances_and_copies_are_not_commented(config):
    """Lookahead's estimate is a share of counts, and may be high for many tokens of a chain."""
    assert hints(config, WARM) == []


def test_sampling_fields_that_do_nothing():
    """Greedy ignores them, and says so."""
    cold = CHAT_SAMPLING.with_(temperature=0)
    assert "do nothing" in hints(tree(4, 5, 10), cold.with_(top_k=5))[0]
    assert hints(tree(4, 5, 10), cold.with_(repetition_penalty=1.2)) == []
    assert hints(tree(4, 5, 10), cold) == []  # the defaults rest there by themselves
    assert "one token" in hints(tree(4, 5, 10), SamplingConfig(temperature=1, top_k=1))[0]
