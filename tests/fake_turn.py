"""Random turns in which every rule of engine/trace.py holds, made without a model.

A reply is fixed beforehand; a synthetic draft proposes its next piece at some rank, or not at all, among other pieces;
the walk accepts what agrees. Knows nothing of ONNX Runtime or Qt: tests of traces, charts and windows start here.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np

from engine.token_tree import TokenTree
from engine.trace import (
    DraftedBy,
    FinishReason,
    KvChange,
    Node,
    Prefill,
    Round,
    Settings,
    Timings,
    Token,
    Turn,
    TurnEnd,
    TurnStart,
)

STORY = (
    "The heron waited at the edge of the river while the morning fog lifted from the reeds. Nobody in the village "
    "remembered a spring so quiet, and the old ferryman said that quiet water is never empty. He tied his boat, lit "
    "a small lamp, and counted the circles that the fish left behind. One circle, two circles, then a long silence. "
    "“Patience,” he said to the bird, “is only hunger that has learned to stand still.” The heron looked at him once, "
    "as if it had heard the sentence before, and struck the water so fast that the lamp flickered. "
)
PIECES = tuple(word if i == 0 else " " + word for i, word in enumerate(STORY.split()))
STOP_TOKEN = 2


class _FakeModel:
    """The reply as tokens, and a draft that is right with a given probability."""

    def __init__(self, rng: random.Random, pieces: Sequence[str], accept: float) -> None:
        self.rng, self.pieces, self.accept = rng, pieces, accept
        self.vocabulary = sorted({*pieces, *PIECES})
        self._ids = {piece: 100 + 7 * i for i, piece in enumerate(self.vocabulary)}

    def target(self, index: int) -> int:
        """Token of the reply at `index`; the reply repeats when it runs out."""
        return self.id_of(self.pieces[index % len(self.pieces)])

    def id_of(self, piece: str) -> int:
        """Token id of a piece; ids are spread out as in a real vocabulary."""
        return self._ids[piece]

    def text(self, token: int) -> str:
        """Inverse of `id_of`."""
        return "<|im_end|>" if token == STOP_TOKEN else self.vocabulary[(token - 100) // 7]

    def children(self, right: int | None, topk: int) -> list[tuple[int, float]]:
        """`topk` different tokens with log-probabilities, best first; `right` is among them or not."""
        others = self.rng.sample(
            [self.id_of(p) for p in self.vocabulary if right is None or self.id_of(p) != right], topk
        )
        if right is not None and self.rng.random() < self.accept:
            others[0] = right
        elif right is not None and topk > 1 and self.rng.random() < 0.5:
            others[self.rng.randrange(1, topk)] = right
        left, scored = 1.0, []
        for token in others:
            p = left * self.rng.uniform(0.35, 0.9)
            left -= p
            scored.append((token, p))
        best_first = sorted((p for _, p in scored), reverse=True)
        return [(token, math.log(p)) for (token, _), p in zip(scored, best_first, strict=True)]


def _draft(model: _FakeModel, index: int, topk: int, depth: int) -> TokenTree:
    """A grown tree below the reply's token `index`."""
    tree, right = TokenTree(topk), [True]  # per active node: is it what the target wants, and all above it
    for level in range(1, depth + 1):
        target = model.target(index + level)
        drawn = [model.children(target if r else None, topk) for r in right]
        ids = np.array([[token for token, _ in row] for row in drawn])
        scores = np.array([[logprob for _, logprob in row] for row in drawn])
        if level == 1:
            tree.init(ids[0], scores[0])
            rows = [0] * topk
        else:
            rows = tree.grow(ids, scores).tolist()
        right = [right[row] and token == target for row, token in zip(rows, tree.get_ids().tolist(), strict=True)]
    return tree


def _tree_nodes(model: _FakeModel, index: int, settings: Settings, depth: int) -> list[Node]:
    """Candidates and their verify rows, depth first; nothing decided yet. Depth 0: only the root."""
    root = model.target(index)
    bare = Node(0, -1, 0, 0, root, model.text(root), 0.0, 0.0, depth > 0, True, 0, -1, "", math.nan, True)
    if not depth:
        return [bare._replace(active=True)]
    tree = _draft(model, index, settings.eagle_topk, depth)
    pruned = tree.finalize(root, settings.draft_predict_length)
    row_of = {int(pruned.nodes[row]): i for i, row in enumerate(pruned.depth_first().tolist())}
    nodes = [bare]
    for i, values in list(enumerate(zip(*(column.tolist() for column in tree.candidates), strict=True)))[1:]:
        parent, level, rank, token, logprob, cum, active, kept = values
        text, row = model.text(token), row_of.get(i, -1)
        nodes.append(
            Node(i, parent, level, rank, token, text, logprob, cum, active, kept, row, -1, "", math.nan, False)
        )
    return nodes


def _walk(nodes: list[Node], model: _FakeModel, index: int) -> list[int]:
    """Accepted node ids, child of the root first."""
    path = [0]
    while True:
        wanted = model.target(index + len(path))
        found = [n.id for n in nodes if n.kept and n.parent == path[-1] and n.token == wanted]
        if not found:
            return path[1:]
        path.append(found[0])


def _decided(nodes: list[Node], accepted: list[int], model: _FakeModel, index: int, stop: bool) -> tuple[Node, ...]:
    """The nodes with what the target wanted after each; with `stop` it ends its turn after the last accepted one."""
    path, right, out = [0, *accepted], [True], []
    for n in nodes:
        if n.id:
            right.append(right[n.parent] and n.token == model.target(index + n.depth))
        wanted = -1
        if n.kept:
            wanted = (
                model.target(index + n.depth + 1) if right[n.id] else model.id_of(model.rng.choice(model.vocabulary))
            )
        if stop and n.id == path[-1]:
            wanted = STOP_TOKEN
        on_path = n.id in path
        prob = model.rng.uniform(0.3, 0.99) if on_path else math.nan
        text = model.text(wanted) if wanted >= 0 else ""
        out.append(n._replace(target_token=wanted, target_text=text, target_prob=prob, accepted=on_path))
    return tuple(out)


def _emitted(nodes: tuple[Node, ...], accepted: list[int], rng: random.Random, stop: bool) -> tuple[Token, ...]:
    """Accepted draft tokens, then the target's own."""
    path = [0, *accepted]
    tokens = []
    for here, after in zip(path, [*accepted, None], strict=True):
        decided = nodes[here]
        source = "draft" if after is not None else "bonus" if len(nodes) > 1 else "plain"
        carrier = after if after is not None else here
        margin = rng.expovariate(0.4)
        tokens.append(
            Token(decided.target_token, decided.target_text, source, carrier, decided.target_prob, margin)  # type: ignore[arg-type]
        )
    return tuple(tokens[:-1] if stop else tokens)


def _timings(rng: random.Random, start: float, depth: int, rows: int) -> Timings:
    """Milliseconds as measured on a small processor: a draft pass 0.4, a target pass 7 and 0.9 per row."""
    draft = 0.4 * depth * rng.uniform(0.9, 1.3)
    verify = (7 + 0.9 * rows) * rng.uniform(0.95, 1.2)
    commit = 0.05 * rng.uniform(0.8, 2)
    return Timings(start, draft + verify + commit + rng.uniform(0.3, 0.8), draft, verify, commit)


def fake_turn(
    seed: int,
    rounds: int = 20,
    topk: int = 4,
    depth: int = 5,
    length: int = 10,
    accept: float = 0.6,
    tokens: Sequence[str] = PIECES,
    strategy: str = "eagle",
    finish: FinishReason = "length",
    temperature: float = 0.0,
) -> Turn:
    """One whole turn; the same arguments give the same turn.

    `accept`: how often the draft's best child is right. `tokens`: pieces of the reply. `strategy` "plain" makes rounds
    without candidates. `finish` "length" may cut the last round's accepted tokens, "stop_token" ends on one.
    """
    rng = random.Random(seed)
    model = _FakeModel(rng, tokens, accept)
    depth = depth if strategy == "eagle" else 0
    settings = Settings(
        strategy, topk, depth or 1, length, temperature, 40, 0.95, 0.0, 1.0, seed,
        eagle_lookup=0, eagle_merge=False, exact=True, max_new_tokens=1024, plain_rows=1, ngram_match_maxlen=4,
        draft_match_strictness="low", draft_selection_rule="freqxlen", ngram_update=False,
    )  # fmt: skip
    prompt = rng.randrange(20, 400)
    turn = Turn()
    turn.add(TurnStart("fake-135m", strategy, "", prompt, rng.randrange(prompt // 2), 2048, 0, "<|im_start|>user\nHi"))
    first = Token(model.target(0), tokens[0], "first", -1, rng.uniform(0.3, 1), rng.expovariate(0.4))
    now = prompt * 0.4
    turn.add(Prefill(prompt - turn.start.reused_tokens, now, first, first.text, 128))  # type: ignore[union-attr]
    index = 0
    for i in range(rounds):
        last = i == rounds - 1
        turn.add(_round(model, settings, i, prompt, index, now, depth, finish if last else None))
        now += turn.rounds[-1].timings.total
        index += len(turn.rounds[-1].emitted)
    text = first.text + "".join(r.text for r in turn.rounds)
    turn.add(TurnEnd(finish, text, tuple(t.id for t in turn.tokens), now))
    return turn


def _round(
    model: _FakeModel,
    settings: Settings,
    number: int,
    prompt: int,
    index: int,
    now: float,
    depth: int,
    finish: FinishReason | None,
) -> Round:
    """One round whose root is the reply's token `index`; `finish` is set on the last one."""
    stop = finish == "stop_token"
    drawn = _tree_nodes(model, index, settings, depth)
    accepted = _walk(drawn, model, index)
    nodes = _decided(drawn, accepted, model, index, stop)
    emitted = _emitted(nodes, accepted, model.rng, stop)
    if finish == "length":
        emitted = emitted[: model.rng.randint(1, len(emitted))]
    rows = sum(n.kept for n in nodes)
    committed = (0, *accepted)[: len(emitted) + stop]
    kv = KvChange(prompt + index, rows, tuple(nodes[i].row for i in committed))
    text = "".join(t.text for t in emitted)
    timings = _timings(model.rng, now, depth, rows)
    by: DraftedBy = "head" if len(nodes) > 1 else "nothing"
    return Round(
        number, prompt + index, settings, nodes, tuple(accepted), emitted, text, kv, timings, drafted_by=by
    )  # fmt: skip
