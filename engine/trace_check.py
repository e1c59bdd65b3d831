"""Whether the records of a turn agree with each other. Used on what comes from a file; the engine's own always do."""

from __future__ import annotations

import math
from itertools import chain

from engine.errors import TraceError
from engine.trace import KvChange, Node, Round, Token, Turn


def check_turn(turn: Turn) -> None:
    """Raise `TraceError`, naming the round and the first thing in it that cannot be."""
    for i, r in enumerate(turn.rounds):
        fault = f"it is numbered {r.index}" if r.index != i else _round_fault(r)
        if fault:
            raise TraceError(f"This trace contradicts itself in round {i}: {fault}.")
    fault = _turn_fault(turn)
    if fault:
        raise TraceError(f"This trace contradicts itself: {fault}.")


def _round_fault(r: Round) -> str:
    """What is wrong with a round, or ""."""
    if r.position < 0:
        return "its position is negative"
    if not all(math.isfinite(ms) and ms >= 0 for ms in (r.timings.start, r.timings.total, *_phases(r))):
        return "a time is negative or missing"
    values = (r.settings.temperature, r.settings.top_p, r.settings.min_p, r.settings.repetition_penalty)
    if not all(map(math.isfinite, values)):
        return "a setting is missing"
    if not 0 <= r.settings.draft_min_probability <= 1:
        return "its draft_min_probability is no probability"
    if r.drafted_by != "unknown" and (r.drafted_by == "nothing") == bool(r.drafted):
        return f"it has {r.drafted} candidates, drafted by {r.drafted_by}"
    return _tree_fault(r.nodes) or _path_fault(r) or _token_fault(r) or _kv_fault(r.kv, r.verified + len(r.replayed))


def _phases(r: Round) -> tuple[float, float, float]:
    return r.timings.draft, r.timings.verify, r.timings.commit


def _tree_fault(nodes: tuple[Node, ...]) -> str:
    """Ids, parents, depths and verify rows."""
    if not nodes or (nodes[0].id, nodes[0].parent, nodes[0].depth, nodes[0].row) != (0, -1, 0, 0):
        return "its tree has no root"
    if not (nodes[0].kept and nodes[0].accepted):
        return "its root is not verified and accepted"
    fault = next(filter(None, (_node_fault(nodes, i) for i in range(1, len(nodes)))), "")
    rows = sorted(n.row for n in nodes if n.kept)
    if not fault and rows != list(range(len(rows))):
        return f"its verified nodes have rows {rows[:20]}, not 0, 1, 2, ..."
    return fault


def _node_fault(nodes: tuple[Node, ...], i: int) -> str:
    """Node i, below the root."""
    n = nodes[i]
    if n.id != i:
        return f"node {i} has id {n.id}"
    if not 0 <= n.parent < i:
        return f"node {i} hangs on node {n.parent}, which comes later or not at all"
    if n.depth != nodes[n.parent].depth + 1:
        return f"node {i} has depth {n.depth} below depth {nodes[n.parent].depth}"
    if n.rank < 0:
        return f"node {i} has rank {n.rank}"
    if n.kept != (n.row >= 0) or (n.kept and not nodes[n.parent].kept):
        return f"node {i} is verified without a row or without its parent, or has a row without being verified"
    return ""


def _path_fault(r: Round) -> str:
    """The accepted path."""
    above = 0
    for i in r.accepted:
        if not 0 < i < len(r.nodes) or r.nodes[i].parent != above or not r.nodes[i].kept:
            return f"accepted node {i} is not a verified child of node {above}"
        above = i
    marked = {n.id for n in r.nodes if n.accepted}
    return "" if marked == set(r.path()) else "the nodes marked as accepted are not the accepted path"


def _token_fault(r: Round) -> str:
    """What was emitted."""
    tokens: chain[Token] = chain(r.emitted, r.replayed, r.provisional)
    if not all(-1 <= t.node < len(r.nodes) for t in tokens):
        return "a token belongs to a node that does not exist"
    if not all(map(_raw_fits, (*r.emitted, *r.replayed, *r.provisional))):
        return "a token's bytes are not those of its text"
    drafted = [t for t in r.emitted if t.source == "draft" and t.node >= 0]
    if [t.node for t in drafted] != list(r.accepted[: len(drafted)]):
        return "the emitted draft tokens are not the accepted nodes"
    if any(t.id != r.nodes[t.node].token for t in drafted):
        return "an emitted draft token is not the token of its node"
    if len(r.emitted) > len(r.replayed) + len(r.accepted) + 1:
        return f"it emits {len(r.emitted)} tokens after accepting {len(r.accepted)}"
    return ""


def _raw_fits(token: Token) -> bool:
    """Whether the bytes of a token, where they are kept, read as its text."""
    try:
        return not token.raw or bytes.fromhex(token.raw).decode(errors="replace") == token.text
    except ValueError:
        return False


def _kv_fault(kv: KvChange, rows: int) -> str:
    """Rows of the cache; `rows` were verified or replayed, besides the root."""
    if kv.before < 0 or kv.appended < rows + 1:
        return f"its cache grows by {kv.appended} rows for a pass of {rows + 1}"
    if list(kv.kept) != sorted({i for i in kv.kept if 0 <= i < kv.appended}):
        return "the cache rows it keeps are out of range or out of order"
    return ""


def _turn_fault(turn: Turn) -> str:
    """The end against the rounds: it may hold more (what was held back), never something else."""
    if turn.prefill is not None and not _raw_fits(turn.prefill.first):
        return "the bytes of its first token are not those of its text"
    if turn.end is None:
        return ""
    recorded = [t.id for t in turn.tokens]
    ended_at_once = not turn.end.token_ids and len(recorded) == 1  # the first token was a stop token
    if not ended_at_once and list(turn.end.token_ids[: len(recorded)]) != recorded:
        return "the tokens of its rounds are not those of its end"
    shown = (turn.prefill.text if turn.prefill else "") + "".join(r.text for r in turn.rounds)
    return "" if turn.end.text.startswith(shown) else "the text of its rounds is not that of its end"
