"""A round as a series of steps: root, level 1 … d, copied text, prune, verify, accept, commit. Qt-free.

Each step is a pure function of the record, so that stepping back is free and never touches the engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from app.tree.copied import joined
from app.tree.words import drafter, own_token, plural
from engine.trace import Node, Phase, PhaseName, Round

State = Literal["hidden", "root", "drafted", "pruned", "verified", "accepted", "rejected"]
COPY = "copy"  # label of the step at which copied text comes
Kind = State | Literal["bonus", "replayed"]  # the target's own token and replayed rows are no nodes


class Step(NamedTuple):
    """One step of a round and what it means, in a sentence."""

    name: PhaseName
    level: int  # draft level for "level", else 0
    label: str  # short, for a button
    sentence: str


def steps(shown: Round) -> tuple[Step, ...]:
    """The steps of a recorded round, in order; a plain round drafts nothing and has fewer."""
    root = Step("root", 0, "root", _root_sentence(shown))
    if not shown.drafted:
        return (root, _verify(shown), _accept(shown), _commit(shown))
    late = joined(shown)
    depth = max(n.depth for n in shown.nodes if n.id not in late)
    if drafter(shown) == "copy":
        return (root, _copy(shown, depth), _prune(shown), _verify(shown), _accept(shown), _commit(shown))
    levels = [Step("level", i, str(i), _level_sentence(shown, i, depth)) for i in range(1, depth + 1)]
    if drafter(shown) == "merged":
        levels.append(_join(shown, len(late)))
    return (root, *levels, _prune(shown), _verify(shown), _accept(shown), _commit(shown))


def states(shown: Round, step: Step) -> dict[int, State]:
    """How each node looks at a step, by node id."""
    late = joined(shown) if step.name == "level" and step.label != COPY else ()
    return {n.id: "hidden" if n.id in late else _state(n, step) for n in shown.nodes}


def has_own_token(step: Step) -> bool:
    """Whether the target's own token is decided at this step."""
    return step.name in ("accept", "commit")


def _state(node: Node, step: Step) -> State:
    match step.name:
        case "root" | "level":
            return "root" if node.id == 0 else "drafted" if node.depth <= step.level else "hidden"
        case "prune":
            return "root" if node.id == 0 else "drafted" if node.kept else "pruned"
        case "verify":
            return "root" if node.id == 0 else "verified" if node.kept else "pruned"
    if node.id == 0:
        return "root"
    return "accepted" if node.accepted else "rejected" if node.kept else "pruned"


def phase_states(phase: Phase) -> dict[int, State]:
    """How the partial tree of a waiting engine looks: read off what the nodes already know, not off the name alone."""
    nodes = phase.nodes
    if phase.name == "commit" or any(n.accepted for n in nodes[1:]):
        reached: PhaseName = "commit"
    elif any(n.target_token >= 0 for n in nodes):
        reached = "verify"
    elif any(n.kept for n in nodes[1:]) and not all(n.kept for n in nodes):
        reached = "prune"
    else:
        reached = "level"
    step = Step(reached, max((n.depth for n in nodes), default=0), "", "")
    return {n.id: _state(n, step) for n in nodes}


def phase_step(phase: Phase) -> Step:
    """What the waiting engine is about to do, in a sentence."""
    drafted = max(0, len(phase.nodes) - 1)
    kept = max(0, sum(n.kept for n in phase.nodes) - 1)
    made = "copied text has come" if _is_copy(phase) else f"the draft has made level {phase.level}"
    sentence = {
        "root": "The engine waits before it drafts from the last decided token.",
        "level": f"The engine waits: {made}, {plural(drafted, 'candidate')} so far.",
        "prune": f"The engine waits before it keeps the likeliest of {plural(drafted, 'candidate')}.",
        "verify": f"The engine waits before the target checks {plural(kept, 'node')} and the root in one pass.",
        "accept": "The engine waits: the target has answered, the walk from the root comes next.",
        "commit": "The engine waits before it keeps the cache rows of the accepted path and drops the others.",
    }[phase.name]
    label = phase.name if phase.name != "level" else COPY if _is_copy(phase) else str(phase.level)
    return Step(phase.name, phase.level, label, sentence)


def phase_labels(phase: Phase, depth: int) -> tuple[Sequence[str], int]:
    """Button labels of a round that is being stepped and which one it stands at."""
    if _is_copy(phase):
        levels = [*map(str, range(1, phase.level)), COPY]
    else:
        levels = [str(i) for i in range(1, max(depth, phase.level) + 1)]
    labels = ["root", *levels, "prune", "verify", "accept", "commit"]
    return labels, labels.index(phase_step(phase).label)


def _root_sentence(shown: Round) -> str:
    again = plural(len(shown.replayed), "token") + " decided earlier run again before it. " if shown.replayed else ""
    return f"The round starts from the last decided token, at position {shown.position}. {again}".strip()


def _level_sentence(shown: Round, level: int, depth: int) -> str:
    late = joined(shown)
    parents = [n.parent for n in shown.nodes if n.depth == level and n.id not in late]
    made = len(parents)
    if drafter(shown) == "ngram":
        return f"Draft level {level}: looked up in earlier text, {plural(made, 'candidate')}, no draft pass."
    k = shown.settings.eagle_topk
    how = f"{k} likeliest tokens after each" if k > 1 else "likeliest token after each"
    of = "the root" if level == 1 else plural(len(set(parents)), "node") + " chosen for it"
    cost = f"; all {depth} passes of the draft head: {shown.timings.draft:.1f} ms" if level == depth else ""
    return f"Draft level {level}: the {how} of {of} make {plural(made, 'candidate')}{cost}."


def _copy(shown: Round, depth: int) -> Step:
    """The whole chain at once, as the engine makes it."""
    copied = f"{plural(shown.drafted, 'token')} copied from where the same tokens stood before, no draft pass."
    return Step("level", depth, COPY, copied)


def _join(shown: Round, late: int) -> Step:
    """The copied chain comes last, in the head's tree; `late` of its tokens the head did not have."""
    deepest = max(n.depth for n in shown.nodes)
    text = f"Copied text joins the tree, no draft pass: {plural(late, 'candidate')} that the head did not have."
    return Step("level", deepest, COPY, text)


def _is_copy(phase: Phase) -> bool:
    """A level goes one deeper than the one before; a copied chain comes whole."""
    return phase.name == "level" and max((n.depth for n in phase.nodes), default=0) != phase.level


def _prune(shown: Round) -> Step:
    if drafter(shown) == "copy":
        return Step("prune", 0, "prune", _prune_chain(shown))
    gone = shown.drafted - shown.verified
    limit, least = shown.settings.draft_predict_length, shown.settings.draft_min_probability
    stay = f"The {shown.verified} likeliest paths of {plural(shown.drafted, 'candidate')} stay"
    unlikely = sum(not n.kept and n.cum_logprob < math.log(least) for n in shown.nodes) if least else 0
    why = f", {unlikely} of them less likely than draft_min_probability {least:g}" if unlikely else ""
    rest = f"; {gone} pruned{why}" if gone else f", for draft_predict_length {limit} allows them all"
    return Step("prune", 0, "prune", f"{stay}{rest}.")


def _prune_chain(shown: Round) -> str:
    """What stays of copied text alone."""
    if shown.verified == shown.drafted:
        return f"A copied draft is one chain: all {plural(shown.drafted, 'token')} of it stay."
    least = f"draft_min_probability {shown.settings.draft_min_probability:g}"
    return f"{shown.verified} of {plural(shown.drafted, 'copied token')} stay: the path to the others is below {least}."


def _verify(shown: Round) -> Step:
    rows = shown.kv.appended
    text = f"One pass of the target over {plural(rows, 'row')} says which token it wants (→) after each node"
    return Step("verify", 0, "verify", f"{text}: {shown.timings.verify:.1f} ms.")


def _accept(shown: Round) -> Step:
    if not shown.drafted:
        text = "The target's token is taken: plain decoding gives one token per pass."
    elif shown.corrected:
        text = "A token that was run again came out otherwise: the tree grew from a wrong text, and does not count."
    elif not shown.accepted:
        text = "No child of the root is what the target wanted: only its own token is gained."
    else:
        agreed = plural(len(shown.accepted), "drafted token")
        text = f"Walking from the root while the target agrees: {agreed} accepted, and its own token on top."
    return Step("accept", 0, "accept", text)


def _commit(shown: Round) -> Step:
    kept, dropped = len(shown.kv.kept), shown.kv.appended - len(shown.kv.kept)
    rows = f"{plural(kept, 'cache row')} kept, {dropped} dropped"
    own = own_token(shown)
    goes_on = own is not None and (own in shown.emitted or own in shown.provisional)
    end = "The target's own token is the next root." if goes_on else "The reply ends here."
    text = f"{rows}; {plural(len(shown.emitted), 'token')} added to the reply. {end}"
    return Step("commit", 0, "commit", text)
