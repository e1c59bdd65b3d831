"""Which cards a round has at a step: never fewer or more than the record, and always the same places."""

from __future__ import annotations

import math

import pytest

from app.tree.drawing import OWN, key_of, number_of, phase_drawing, round_drawing
from app.tree.facts import facts
from app.tree.navigate import neighbour
from app.tree.phases import steps
from app.tree.table import TreeModel
from app.tree.words import describe, tree_text, visible
from engine.trace import Phase


def cards(drawing):
    """By key."""
    return {c.key: c for c in drawing.cards}


@pytest.mark.parametrize("ghosts", [False, True])
def test_the_cards_are_the_same_at_every_step(shown, ghosts):
    """Positions can only be stable if the set of cards, their order and their sizes are."""
    shapes = {
        tuple((c.key, c.parent, c.small) for c in round_drawing(shown, step, ghosts).cards) for step in steps(shown)
    }
    assert len(shapes) == 1


def test_ghosts_are_the_pruned_candidates(shown):
    """All 68 candidates with ghosts, the 24 verified ones without; root and own token always."""
    last = steps(shown)[-1]
    assert len(round_drawing(shown, last, False).cards) == 1 + 24 + 1
    all_cards = round_drawing(shown, last, True).cards
    assert len(all_cards) == 1 + 68 + 1
    assert [c.kind for c in all_cards].count("pruned") == sum(c.small for c in all_cards) == 44


def test_siblings_come_in_rank_order(shown):
    """Rank is read off the drawing."""
    for parent, below in round_drawing(shown, steps(shown)[-1], True).children().items():
        assert [k for k in below if k != OWN] == [n.id for n in shown.children(parent)]


def test_card_says_token_and_probabilities(shown):
    """The edge has the draft's probability, the card that of the path."""
    node = shown.nodes[shown.accepted[1]]
    card = cards(round_drawing(shown, steps(shown)[-1], False))[node.id]
    assert card.text == visible(node.text)
    assert card.number == f"{100 * math.exp(node.cum_logprob):.0f}%"
    assert card.p == pytest.approx(math.exp(node.logprob))
    assert card.kind == "accepted"


def test_verify_shows_what_the_target_wanted(shown):
    """That is what the pass gives: a token after every node."""
    verify = next(s for s in steps(shown) if s.name == "verify")
    found = cards(round_drawing(shown, verify, True))
    for node in shown.nodes:
        wanted = f"→ {visible(node.target_text)}"
        assert (found[node.id].number == wanted) == (node.target_token >= 0)


def test_own_token_hangs_on_the_last_accepted_node(shown, plain):
    """It is hidden until it is decided, and its place is kept free."""
    for r in (shown, plain):
        first, last = (cards(round_drawing(r, step, False))[OWN] for step in (steps(r)[0], steps(r)[-1]))
        assert (first.kind, last.kind) == ("hidden", "bonus")
        assert last.parent == r.path()[-1]
        assert last.text == visible(r.emitted[-1].text)


def test_rows_run_again_lead_to_the_root(again):
    """They stand before the root, in row order."""
    drawing = round_drawing(again, steps(again)[-1], False)
    found = cards(drawing)
    assert drawing.first == "again 0"
    assert (found["again 1"].parent, found[0].parent) == ("again 0", "again 1")
    assert found["again 1"].kind == "replayed"


def test_undecided_candidates_are_all_shown(shown):
    """A stepped engine has not pruned yet: hiding ghosts must not hide everything."""
    nodes = tuple(n._replace(kept=False, row=-1, target_token=-1, accepted=False) for n in shown.nodes if n.depth < 3)
    drawing = phase_drawing(Phase(0, "level", 2, nodes), ghosts=False)
    assert len(drawing.cards) == 21
    assert phase_drawing(Phase(0, "root", 0, ()), ghosts=False).first is None


def test_facts_hold_every_field(shown, again):
    """The hover card is the node's whole record."""
    node = shown.nodes[shown.accepted[1]]
    title, fate, pairs = facts(shown, node.id)
    told = dict(pairs)
    assert (title, fate) == (f"{visible(node.text)}   token {node.token}", shown.fate(node))
    assert told["node"] == f"{node.id}, child of {node.parent}"
    assert told["rank"] == f"{node.rank + 1} of 4 siblings"
    assert told["depth"] == "2"
    assert told["expanded"] == "yes"
    assert told["verified"] == f"yes, row {node.row}"
    assert told["accepted"] == "yes"
    assert f"{node.logprob:.3f}".replace("-", "−") in told["draft p"]
    assert f"{node.cum_logprob:.3f}".replace("-", "−") in told["p of the path"]
    assert told["target wanted next"].startswith(f"{visible(node.target_text)} [{node.target_token}]  p ")
    assert dict(facts(again, node.id)[2])["verified"] == f"yes, row {node.row + 2}"


def test_facts_of_a_pruned_node_ask_nothing_of_the_target(shown):
    """It was never in the pass."""
    node = next(n for n in shown.nodes if not n.kept)
    _, fate, pairs = facts(shown, node.id)
    assert fate.startswith("pruned before verification: not among the 24 likeliest")
    assert dict(pairs)["target wanted next"] == "not asked"
    assert dict(pairs)["verified"] == "no, pruned before"


def test_facts_of_cards_that_are_no_nodes(again):
    """The own token and replayed rows have a card too."""
    title, fate, pairs = facts(again, OWN)
    assert title.startswith(visible(again.emitted[-1].text))
    assert fate.startswith("bonus: ")
    assert ("in the reply", "yes") in pairs
    title, fate, pairs = facts(again, "again 1")
    assert (title, pairs[0]) == ("⏎   token 8", ("row in the pass", "1"))


def test_keys_walk_the_tree(shown):
    """Right follows the accepted path, left goes back, up and down stay in the level."""
    drawing = round_drawing(shown, steps(shown)[-1], False)
    places = {c.key: (0 if c.key == 0 else 4 if c.key == OWN else shown.nodes[c.key].depth, float(i))
              for i, c in enumerate(drawing.cards)}  # fmt: skip
    at = neighbour(drawing, places, None, "on")
    assert at == 0
    path = [at := neighbour(drawing, places, at, "on") for _ in range(4)]
    assert path == [*shown.accepted, OWN]
    assert neighbour(drawing, places, OWN, "back") == shown.accepted[-1]
    assert neighbour(drawing, places, OWN, "on") is None
    assert neighbour(drawing, places, 0, "last") == OWN
    level = [k for k, (depth, _) in places.items() if depth == 1]
    assert neighbour(drawing, places, level[0], "next") == level[1]
    assert neighbour(drawing, places, level[0], "previous") is None
    assert neighbour(drawing, {}, None, "on") is None


def test_a_correction_hangs_on_the_row_that_decided_it(corrected):
    """The one token that an exact round gained was nowhere in the tree, and its own sentence spoke of a walk."""
    assert corrected.corrected
    drawing = round_drawing(corrected, steps(corrected)[-1], False)
    own = cards(drawing)[OWN]
    assert (own.text, own.parent, own.kind, own.number) == ("␣upon", "again 1", "bonus", "60%")
    assert OWN in drawing.spine
    assert 0 not in drawing.spine
    title, fate, pairs = facts(corrected, OWN)
    assert title.startswith("␣upon")
    assert fate == "correction: the target's own token instead of an earlier one"
    assert ("decided by row", "1") in pairs
    assert "came out otherwise" in next(s.sentence for s in steps(corrected) if s.name == "accept")
    assert describe(corrected).endswith("corrected to ␣upon, so the draft was dropped")
    assert "★ ␣upon [9]  correction" in tree_text(corrected)
    model = TreeModel()
    model.show_round(corrected)
    assert "★ ␣upon\tcorrection" in model.table_text()


def test_every_card_has_a_number_and_back(corrected):
    """Hover and click link by numbers: rows that were run again had none and lit up nothing."""
    drawing = round_drawing(corrected, steps(corrected)[-1], True)
    numbers = [number_of(corrected, card.key) for card in drawing.cards]
    assert len(set(numbers)) == len(numbers)
    assert [key_of(corrected, number) for number in numbers] == [card.key for card in drawing.cards]
    assert key_of(corrected, -1) is None
    assert number_of(corrected, None) == -1


def test_copied_nodes_of_a_merged_tree_say_so(merged, copied, shown):
    """Who drafted a node was to be found only node by node, on the hover card."""
    found = cards(round_drawing(merged, steps(merged)[-1], True))
    assert {key for key, card in found.items() if card.number.endswith(" copied")} == {1, 3, 8}
    for r in (copied, shown):
        assert not any("copied" in card.number for card in round_drawing(r, steps(r)[-1], True).cards)
