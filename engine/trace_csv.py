"""The rounds of a turn as a table for spreadsheets."""

from __future__ import annotations

import csv
import io
import json

from engine.trace import Round, Turn

COLUMNS = {
    "round": "number of the round, from 0",
    "position": "absolute position of the root in tokens",
    "strategy": "plain, eagle, ...",
    "eagle_topk": "children per node",
    "eagle_depth": "levels of the draft tree",
    "draft_predict_length": "most nodes verified",
    "draft_min_probability": "least probability of the path of a verified node; 0 is no limit",
    "eagle_lookup": "least tokens that stood before where text is copied; 0 is never, empty in old traces",
    "eagle_merge": "True: copied text joins the tree of the head; False: it replaces it; empty in old traces",
    "exact": "True: the text of plain decoding to the last bit; empty in old traces",
    "temperature": "0 is greedy",
    "drafted": "candidate nodes, root excluded",
    "verified": "nodes the target verified, root excluded",
    "accepted": "draft tokens that reached the reply",
    "emitted": "tokens that reached the reply, the target's own included",
    "start_ms": "since the beginning of the turn",
    "total_ms": "duration of the round: draft + verify + commit + host",
    "draft_ms": "passes of the draft head",
    "verify_ms": "the target pass",
    "commit_ms": "moving cache rows",
    "host_ms": "everything else",
    "kv_before": "cache rows committed before the round",
    "kv_appended": "rows of the target pass",
    "kv_kept": "of these, rows that stay",
    "drafted_by": "head, copy (of earlier text), merged (both), ngram (counts of it), nothing; unknown in old traces",
    "text": "what became displayable, as a JSON string: white space visible, never a formula to a spreadsheet",
}


def rounds_csv(turn: Turn) -> str:
    """One line per round under a header; `COLUMNS` says what each column holds. Milliseconds have three decimals."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(_row, turn.rounds))
    return out.getvalue()


def _row(r: Round) -> list[object]:
    s, t = r.settings, r.timings
    times = (t.start, t.total, t.draft, t.verify, t.commit, t.host)
    return [
        *(r.index, r.position, s.strategy, s.eagle_topk, s.eagle_depth, s.draft_predict_length),
        *(s.draft_min_probability, s.eagle_lookup, s.eagle_merge, s.exact, s.temperature),
        *(r.drafted, r.verified, r.accepted_emitted, len(r.emitted)),
        *(f"{ms:.3f}" for ms in times),
        *(r.kv.before, r.kv.appended, len(r.kv.kept), r.drafted_by),
        json.dumps(r.text.encode(errors="replace").decode(), ensure_ascii=False),
    ]
