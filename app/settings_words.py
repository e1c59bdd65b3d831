"""What the settings are called and what they come to, in plain words. No Qt."""

from __future__ import annotations

from engine import CHAT_SAMPLING, EngineConfig, SamplingConfig, tree_pool, verified_nodes

NAMES: dict[str, str] = {
    "eagle_topk": "Branches",
    "eagle_depth": "Depth",
    "draft_predict_length": "Tree size",
    "temperature": "Temperature",
    "max_new_tokens": "Reply limit",
    "top_k": "Top k",
    "top_p": "Top p",
    "min_p": "Min p",
    "repetition_penalty": "Repetition",
    "prefill_chunk": "Prompt chunk",
    "plain_rows": "Plain rows",
    "eagle_lookup": "Copy after",
    "draft_min_probability": "Draft from",
    "ngram_match_maxlen": "Lookup length",
    "exact": "Exact text",
    "eagle_merge": "Copy and draft",
    "draft_match_strictness": "Strictness",
    "draft_selection_rule": "Selection",
    "ngram_update": "Learn while writing",
}
TREE_KEYS = ("eagle_topk", "eagle_depth", "draft_predict_length")
MAIN_KEYS = (*TREE_KEYS, "temperature", "max_new_tokens")
MORE_KEYS = (
    "top_k",
    "top_p",
    "min_p",
    "repetition_penalty",
    "prefill_chunk",
    "plain_rows",
    "eagle_lookup",
    "draft_min_probability",
    "ngram_match_maxlen",
)

CHOICE_KEYS = ("exact", "eagle_merge", "draft_match_strictness", "draft_selection_rule", "ngram_update")
LOOKAHEAD_KEYS = ("ngram_match_maxlen", "draft_match_strictness", "draft_selection_rule", "ngram_update")
SWITCHES: dict[str, str] = {  # settings that are on or off, and what they do
    "exact": "On: the text is that of plain decoding to the last bit. Off: near ties may fall the other way.",
    "eagle_merge": "On: copied text joins the head's tree. Off: it replaces the tree, and no draft pass runs.",
    "ngram_update": "Lookahead: learn from the reply while it is written, not only from what came before it.",
}


def acts(key: str) -> str:
    """When a change of a setting acts."""
    return "Acts when the next prompt is read." if key == "prefill_chunk" else "Acts at the next round."


def resting(config: EngineConfig) -> frozenset[str]:
    """Settings that do nothing under the chosen strategy."""
    copies = ("eagle_lookup", "eagle_merge")
    tree = {
        "plain": (*TREE_KEYS, *copies, "draft_min_probability"),
        "mtp": (*TREE_KEYS[:2], *copies),
        "lookahead": ("eagle_depth", *copies),
    }
    kind = "plain" if is_plain(config) else config.speculative_type
    return frozenset((*tree.get(kind, ()), *(() if kind == "lookahead" else LOOKAHEAD_KEYS)))


def is_plain(config: EngineConfig) -> bool:
    """Whether plain decoding is asked for."""
    return config.speculative_type in ("", "plain", "ar")


def annotation(config: EngineConfig) -> str:
    """What the three tree settings come to: candidates made, nodes verified, draft passes."""
    k, d, n = config.eagle_topk, config.eagle_depth, config.draft_predict_length
    if is_plain(config):
        return "Plain decoding: one token per round, no draft. The tree settings rest."
    if config.speculative_type == "mtp":
        return f"chain of {n} nodes    draft passes = {n} a round    Branches and depth rest."
    if config.speculative_type == "lookahead":
        return f"verified ≤ {n} nodes, ≤ {k} per parent, from earlier text    draft passes = 0    Depth rests."
    pool, most = tree_pool(k, d), "≤ " if config.draft_min_probability else ""
    copied = ", none where text is copied" if config.eagle_lookup and not config.eagle_merge else ""
    return (
        f"pool = k + (d−1)k² = {k} + {d - 1}·{k * k} = {pool} candidates    "
        f"verified = min({n}, {pool}) = {most}{verified_nodes(config)} nodes    "
        f"draft passes = {most}{d} a round{copied}"
    )


def hints(config: EngineConfig, sampling: SamplingConfig, default: SamplingConfig = CHAT_SAMPLING) -> list[str]:
    """Combinations that are allowed and mean nothing, one sentence each. `default`: what sampling is by itself."""
    found = _tree_hints(config) if config.speculative_type == "eagle" else []
    at_rest = any(getattr(sampling, key) != getattr(default, key) for key in ("top_k", "top_p", "min_p"))
    if sampling.temperature == 0 and at_rest:
        found.append("Temperature 0 always takes the likeliest token: top k, top p and min p do nothing.")
    elif sampling.top_k == 1:
        found.append("Top k 1 leaves one token to choose from: the same as temperature 0.")
    return found


def _tree_hints(config: EngineConfig) -> list[str]:
    k, d, n = config.eagle_topk, config.eagle_depth, config.draft_predict_length
    pool = tree_pool(k, d)
    if k == 1 and n > d:
        return ["eagle_topk 1 is a chain: draft_predict_length above eagle_depth adds nothing."]
    if n > pool:
        return [f"All {pool} candidates are verified: draft_predict_length above {pool} adds nothing."]
    if n < d:
        return [f"{n} nodes can never reach deeper than level {n}: the draft passes after it are wasted."]
    return []
