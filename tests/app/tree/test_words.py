"""Words about tokens and rounds: what is invisible becomes visible, and nothing is said that is not so."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from app.tree.facts import facts
from app.tree.words import describe, drafter, node_fate, own_token, own_token_fate, percent, summary, tree_text, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" the", "␣the"),
        ("a b\n", "a␣b⏎"),
        ("\t\r", "⇥␍"),
        ("\x00\x1b", "␀␛"),
        ("\x7f", "␡"),
        ("", "‹empty›"),
        ("a\u200bb", "a‹U+200B›b"),
        ("\u202eabc", "‹U+202E›abc"),
        ("\u00a0", "⍽"),
        ("\u2028", "‹U+2028›"),
        ("\u0301", "◌\u0301"),
        ("<b>&amp;", "<b>&amp;"),
        ("\ufffd", "\ufffd"),
        ("你好", "你好"),
    ],
)
def test_nothing_in_a_token_stays_invisible(text, shown):
    """Spaces, controls and direction marks decide acceptance, and can turn a label around."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1.0, "100%"),
        (0.824, "82%"),
        (0.0994, "9.9%"),
        (0.0999, "10%"),
        (0.0012, "0.1%"),
        (0.0, "<0.1%"),
        (math.nan, "–"),
    ],
)
def test_probabilities_are_short(p, text):
    """Four characters fit beside an edge; small ones must not read as zero."""
    assert percent(p) == text


def test_summary_counts_what_the_record_counts(shown, plain):
    """The headline must agree with the record."""
    assert summary(shown, 60).startswith(f"Round {shown.index + 1} of 60: 3 of 24 accepted, 4 tokens in ")
    assert summary(plain).startswith(f"Round {plain.index + 1}: plain, 1 token in ")


def test_who_drafted_is_said_and_only_guessed_where_it_is_certain(shown, plain):
    """The record decides; of older ones only what their strategy or shape proves is said."""
    copied = replace(shown, drafted_by="copy")
    assert " of 24 copied accepted" in summary(copied)
    assert "of 24 copied accepted" in describe(copied)
    assert dict(facts(copied, 1)[2])["drafted by"] == "copied text"
    assert "an estimate" in dict(facts(copied, 1)[2])["draft p"]
    assert dict(facts(shown, 1)[2])["drafted by"] == "the draft head"
    assert (drafter(shown), drafter(plain)) == ("head", "nothing")
    old, s = replace(shown, drafted_by="unknown"), shown.settings
    assert drafter(old) == "unknown"
    assert dict(facts(old, 1)[2])["drafted by"] == "not recorded"
    assert drafter(replace(old, settings=replace(s, eagle_topk=s.eagle_topk + 1))) == "copy"  # a head makes them all
    assert drafter(replace(old, settings=replace(s, eagle_depth=s.eagle_depth - 1))) == "copy"  # and no level more
    assert drafter(replace(old, settings=replace(s, strategy="lookahead"))) == "ngram"
    assert drafter(replace(plain, drafted_by="unknown")) == "nothing"


def test_description_names_the_path(shown, plain):
    """Screen readers get the drawing as a sentence."""
    text = describe(shown)
    path = ", ".join(visible(shown.nodes[i].text) for i in shown.accepted)
    assert text.startswith(f"round {shown.index + 1}: 3 of 24 drafted accepted: {path}; then the target's own token ")
    assert "44 pruned" in text
    assert "plain decoding" in describe(plain)


def test_own_token_is_the_emitted_one(shown, plain):
    """The extra card shows the record's token, with its margin, not a guess."""
    assert own_token(shown) is shown.emitted[-1]
    assert own_token(plain) is plain.emitted[-1]


def test_own_token_that_was_cut_off_says_so(shown):
    """At a stop the target's token is known but not in the reply."""
    cut = replace(shown, emitted=shown.emitted[:2])
    own = own_token(cut)
    assert own.id == shown.emitted[-1].id
    assert own_token_fate(cut, own).endswith("not in the reply, which ends before it")
    assert node_fate(cut, cut.nodes[cut.accepted[-1]]).endswith("not in the reply, which ends before it")
    assert node_fate(cut, cut.nodes[cut.accepted[0]]) == cut.fate(cut.nodes[cut.accepted[0]])


def test_provisional_tokens_wait(shown):
    """A token that the next pass has to confirm is neither in the reply nor lost."""
    waiting = replace(shown, emitted=shown.emitted[:-1], provisional=shown.emitted[-1:])
    assert own_token_fate(waiting, own_token(waiting)).endswith("waits for the next pass to confirm it")


def test_no_target_answer_no_own_token(shown):
    """A record without the target's answer must not show an empty card."""
    nodes = tuple(n._replace(target_token=-1) for n in shown.nodes)
    assert own_token(replace(shown, nodes=nodes, emitted=())) is None


def test_text_has_a_line_per_node_in_rank_order(shown):
    """The copyable text is the drawing: indented by depth, marked by fate."""
    lines = tree_text(shown).splitlines()
    assert len(lines) == 1 + len(shown.nodes) + 1
    assert lines[1].startswith("✓ ")
    first = shown.children(0)[0]
    assert lines[2].startswith(f"  {'✓' if first.accepted else '✕'} {visible(first.text)} [{first.token}]")
    own = shown.emitted[-1]
    assert f"{'  ' * 4}★ {visible(own.text)} [{own.id}]" in "\n".join(lines)
    assert len(tree_text(shown, pruned=False).splitlines()) == 1 + 25 + 1
