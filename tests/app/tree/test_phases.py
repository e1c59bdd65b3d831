"""A round as steps: what is seen when, and that the words agree with the record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.tree.phases import has_own_token, phase_labels, phase_states, phase_step, states, steps
from engine.trace import Phase


def by_name(shown, name, level=0):
    """A step of a round."""
    return next(s for s in steps(shown) if (s.name, s.level) == (name, level))


def test_steps_follow_the_algorithm(shown, plain):
    """Space walks root, levels, prune, verify, accept, commit; plain rounds draft nothing."""
    assert [s.label for s in steps(shown)] == ["root", *"12345", "prune", "verify", "accept", "commit"]
    assert [s.label for s in steps(plain)] == ["root", "verify", "accept", "commit"]


def test_levels_appear_one_by_one(shown):
    """Before its level a node is hidden; none is pruned before all are there."""
    for level in range(6):
        step = by_name(shown, "level", level) if level else by_name(shown, "root")
        looks = states(shown, step)
        for node in shown.nodes[1:]:
            assert looks[node.id] == ("drafted" if node.depth <= level else "hidden")


def test_pruning_spares_what_the_record_kept(shown):
    """Exactly draft_predict_length nodes stay."""
    looks = list(states(shown, by_name(shown, "prune")).values())
    assert (looks.count("drafted"), looks.count("pruned"), looks.count("root")) == (24, 44, 1)
    assert list(states(shown, by_name(shown, "verify")).values()).count("verified") == 24


def test_the_walk_shows_every_fate(shown):
    """Accepted, rejected, pruned: the counts on screen are the counters."""
    for name in ("accept", "commit"):
        looks = list(states(shown, by_name(shown, name)).values())
        assert looks.count("accepted") == len(shown.accepted)
        assert looks.count("rejected") == shown.verified - len(shown.accepted)
        assert looks.count("pruned") == shown.drafted - shown.verified


def test_own_token_appears_with_the_walk(shown):
    """It is decided by the walk, not before."""
    assert [s.label for s in steps(shown) if has_own_token(s)] == ["accept", "commit"]


def test_sentences_hold_the_record_s_numbers(shown):
    """Each step says what happened, with measured numbers."""
    assert "make 4 candidates" in by_name(shown, "level", 1).sentence
    assert "make 16 candidates" in by_name(shown, "level", 3).sentence
    assert f"{shown.timings.draft:.1f} ms" in by_name(shown, "level", 5).sentence
    assert "24 likeliest paths of 68 candidates stay; 44 pruned" in by_name(shown, "prune").sentence
    assert f"25 rows says which token it wants (→) after each node: {shown.timings.verify:.1f} ms" in (
        by_name(shown, "verify").sentence
    )
    assert "3 drafted tokens accepted" in by_name(shown, "accept").sentence
    assert "4 cache rows kept, 21 dropped; 4 tokens added" in by_name(shown, "commit").sentence


def test_a_round_that_accepts_nothing_says_so(turn):
    """The commonest disappointment deserves a plain sentence."""
    nothing = next(r for r in turn.rounds if not r.accepted)
    assert by_name(nothing, "accept").sentence.startswith("No child of the root is what the target wanted")


def partial(shown, depth, **changes):
    """Nodes as a stepped engine has them in the making."""
    blank = {"kept": False, "row": -1, "target_token": -1, "accepted": False, **changes}
    return tuple(n._replace(**blank) for n in shown.nodes if n.depth <= depth)


@pytest.mark.parametrize("name", ["root", "level", "prune"])
def test_a_tree_in_the_making_is_drafted(shown, name):
    """Nothing is known to be kept yet, so nothing may look pruned."""
    looks = phase_states(Phase(0, name, 2, partial(shown, 2)))
    assert set(looks.values()) == {"root", "drafted"}


def test_waiting_before_verify_shows_what_is_kept(shown):
    """After finalize the pruned ones are known."""
    nodes = tuple(n._replace(target_token=-1, accepted=False, row=-1) for n in shown.nodes)
    looks = list(phase_states(Phase(0, "verify", 0, nodes)).values())
    assert (looks.count("drafted"), looks.count("pruned")) == (24, 44)


def test_waiting_after_the_pass_shows_no_fate_yet(shown):
    """The target has answered, the walk has not begun."""
    nodes = tuple(n._replace(accepted=n.id == 0) for n in shown.nodes)
    looks = list(phase_states(Phase(0, "accept", 0, nodes)).values())
    assert (looks.count("verified"), looks.count("accepted")) == (24, 0)


def test_waiting_before_commit_shows_the_fates(shown):
    """Also when nothing was accepted."""
    looks = list(phase_states(Phase(0, "commit", 0, shown.nodes)).values())
    assert looks.count("accepted") == 3
    nodes = tuple(n._replace(accepted=n.id == 0) for n in shown.nodes)
    looks = list(phase_states(Phase(0, "commit", 0, nodes)).values())
    assert (looks.count("rejected"), looks.count("accepted")) == (24, 0)


def test_waiting_is_said_and_placed(shown):
    """The bar shows where the engine stands, also beyond the usual depth."""
    phase = Phase(4, "level", 5, partial(shown, 5))
    labels, index = phase_labels(phase, 3)
    assert labels[index] == "5"
    assert phase_step(phase).sentence.startswith("The engine waits: the draft has made level 5, 68 candidates")
    labels, index = phase_labels(Phase(4, "commit", 0, shown.nodes), 5)
    assert labels[index] == "commit"


def test_copied_draft_is_one_step(copied):
    """A chain copied from earlier text has no draft passes: it comes whole, and none of it is pruned."""
    told = steps(copied)
    assert [s.label for s in told] == ["root", "copy", "prune", "verify", "accept", "commit"]
    assert told[1].sentence.startswith("16 tokens copied from where the same tokens stood before")
    assert set(states(copied, told[1]).values()) == {"root", "drafted"}
    assert told[2].sentence == "A copied draft is one chain: all 16 tokens of it stay."


def test_looked_up_drafts_have_no_passes(shown):
    """Lookahead reads earlier text; there is no head whose passes could be timed."""
    told = by_name(replace(shown, drafted_by="ngram"), "level", 1).sentence
    assert "looked up in earlier text" in told
    assert "pass of the draft head" not in by_name(replace(shown, drafted_by="ngram"), "level", 5).sentence


def test_a_merged_tree_has_a_step_for_the_copied_text(merged):
    """The head made two levels in two passes; what it did not have comes after them, without a pass."""
    told = steps(merged)
    assert [s.label for s in told] == ["root", "1", "2", "copy", "prune", "verify", "accept", "commit"]
    assert "of the root make 2 candidates" in told[1].sentence
    assert "of 2 nodes chosen for it make 4 candidates; all 2 passes" in told[2].sentence
    assert told[3].sentence == "Copied text joins the tree, no draft pass: 2 candidates that the head did not have."
    seen = [{i for i, state in states(merged, step).items() if state == "drafted"} for step in told[1:4]]
    assert seen == [{1, 2}, {1, 2, 4, 5, 6, 7}, set(range(1, 9))]


def test_pruned_for_being_unlikely_is_said(merged, copied):
    """`draft_predict_length` is not to blame for what `draft_min_probability` left out."""
    sentence = by_name(merged, "prune").sentence
    assert sentence == (
        "The 5 likeliest paths of 8 candidates stay; 3 pruned, 2 of them less likely than draft_min_probability 0.16."
    )
    nodes = tuple(n._replace(kept=n.depth < 4, row=n.row if n.depth < 4 else -1) for n in copied.nodes)
    cut = replace(copied, nodes=nodes, settings=replace(copied.settings, draft_min_probability=0.3))
    told = by_name(cut, "prune").sentence
    assert told == "3 of 16 copied tokens stay: the path to the others is below draft_min_probability 0.3."


def test_waiting_for_copied_text_is_no_level(merged, copied):
    """The chain comes whole, whether alone or behind the levels of the head."""
    phase = Phase(4, "level", 3, merged.nodes[:3])
    assert phase_step(phase).sentence == "The engine waits: copied text has come, 2 candidates so far."
    assert phase_labels(phase, 2) == (["root", "1", "2", "copy", "prune", "verify", "accept", "commit"], 3)
    alone = Phase(4, "level", 1, copied.nodes)
    assert phase_labels(alone, 2) == (["root", "copy", "prune", "verify", "accept", "commit"], 1)


def test_a_reply_that_ends_promises_no_next_root(shown):
    """A stop token is the target's own, and no round grows from it."""
    assert steps(shown)[-1].sentence.endswith("The target's own token is the next root.")
    ended = replace(shown, emitted=shown.emitted[:-1])
    assert steps(ended)[-1].sentence.endswith("The reply ends here.")
    waiting = replace(ended, provisional=shown.emitted[-1:])
    assert steps(waiting)[-1].sentence.endswith("is the next root.")
