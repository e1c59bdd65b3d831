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
    "draft_min_probability": "Min chance",
    "ngram_match_maxlen": "Lookup length",
    "exact": "Exact text",
    "eagle_merge": "Merge copies",
    "draft_match_strictness": "Strictness",
    "draft_selection_rule": "Selection",
    "ngram_update": "Learning",
}
COPIED_MOST = 16  # tokens of one copy
LEVEL_LEAST = 0.25  # EAGLE's head makes a level behind a path four times as likely as a node must be
TREE_KEYS = ("eagle_topk", "eagle_depth", "draft_predict_length")
MAIN_KEYS = (*TREE_KEYS, "temperature", "max_new_tokens")
MORE_KEYS = (
    "top_k",
    "top_p",
    "min_p",
    "repetition_penalty",
    "draft_min_probability",
    "eagle_lookup",
    "eagle_merge",
    "exact",
    "plain_rows",
    "prefill_chunk",
    "ngram_match_maxlen",
    "draft_match_strictness",
    "draft_selection_rule",
    "ngram_update",
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


def origin(key: str) -> str:
    """What a value of the past is."""
    if key == "prefill_chunk":
        return "The prompt of the shown reply was read with this value."
    return "The shown round used this value."


def resting(config: EngineConfig) -> frozenset[str]:
    """Settings that do nothing under the chosen strategy."""
    return _idle("plain" if is_plain(config) else config.speculative_type)


def unused(strategy: str) -> frozenset[str]:
    """Settings that a round of this strategy did not ask.

    Under any but plain decoding `plain_rows` is one of them; it never rests, as a model without head decodes plainly.
    """
    return _idle(strategy) | (frozenset() if strategy == "plain" else {"plain_rows"})


def _idle(strategy: str) -> frozenset[str]:
    copies = ("eagle_lookup", "eagle_merge")
    tree = {
        "plain": (*TREE_KEYS, *copies, "draft_min_probability"),
        "mtp": (*TREE_KEYS[:2], *copies),
        "lookahead": ("eagle_depth", *copies),
    }
    return frozenset((*tree.get(strategy, ()), *(() if strategy == "lookahead" else LOOKAHEAD_KEYS)))


def is_plain(config: EngineConfig) -> bool:
    """Whether plain decoding is asked for."""
    return config.speculative_type in ("", "plain", "ar")


def annotation(config: EngineConfig) -> str:
    """What the three tree settings come to: candidates made, nodes verified, draft passes."""
    k, d, n = config.eagle_topk, config.eagle_depth, config.draft_predict_length
    if is_plain(config):
        return "Plain decoding: one token per round, no draft. The tree settings rest."
    p = config.draft_min_probability
    most = "≤" if p else "="
    if config.speculative_type == "mtp":
        return f"chain of {'≤ ' if p else ''}{n} nodes    draft passes {most} {n} a round    Branches and depth rest."
    if config.speculative_type == "lookahead":
        return f"verified ≤ {n} nodes, ≤ {k} per parent, from earlier text    draft passes = 0    Depth rests."
    pool = tree_pool(k, d)
    return (
        f"pool = k + (d−1)k² = {k} + {d - 1}·{k * k} = {pool} candidates    "
        f"verified {most} min({n}, {pool}) = {verified_nodes(config)} nodes    draft passes {most} {d} a round"
        f"{_copying(config)}"
    )


def _copying(config: EngineConfig) -> str:
    """What the sums above are where text is copied."""
    if not config.eagle_lookup:
        return ""
    alone = f"up to {COPIED_MOST} nodes, no pass"
    n = config.draft_predict_length
    if not config.eagle_merge or n <= config.eagle_lookup:
        return f"    where text is copied: {alone}"
    return f"    copied text joins; {n} tokens and more go alone: {alone}"


def hints(config: EngineConfig, sampling: SamplingConfig, default: SamplingConfig = CHAT_SAMPLING) -> list[str]:
    """Combinations that are allowed and mean nothing, one sentence each. `default`: what sampling is by itself."""
    found = _tree_hints(config) if config.speculative_type == "eagle" else []
    if config.speculative_type == "mtp" and config.draft_min_probability > LEVEL_LEAST:
        found.append(f"Above {LEVEL_LEAST:g}, draft_min_probability ends every chain after one token.")
    at_rest = any(getattr(sampling, key) != getattr(default, key) for key in ("top_k", "top_p", "min_p"))
    if sampling.temperature == 0 and at_rest:
        found.append("Temperature 0 always takes the likeliest token: top k, top p and min p do nothing.")
    elif sampling.top_k == 1:
        found.append("Top k 1 leaves one token to choose from: the same as temperature 0.")
    return found


def _tree_hints(config: EngineConfig) -> list[str]:
    """Of the shape, of what is likely enough, of copies: the first that applies of each."""
    return [*filter(None, (_shape_hint(config), _chance_hint(config), _copy_hint(config)))]


def _shape_hint(config: EngineConfig) -> str:
    k, d, n = config.eagle_topk, config.eagle_depth, config.draft_predict_length
    pool = tree_pool(k, d)
    if k == 1 and n > d:
        return "eagle_topk 1 is a chain: draft_predict_length above eagle_depth adds nothing."
    if n > pool:
        return f"All {pool} candidates are verified: draft_predict_length above {pool} adds nothing."
    if n < d:
        return f"{n} nodes can never reach deeper than level {n}: the draft passes after it are wasted."
    return ""


def _chance_hint(config: EngineConfig) -> str:
    """Of tokens that exclude each other at most 1 / p have the probability p."""
    p = config.draft_min_probability
    if p > 0.5:
        return f"Only one token can have a probability of {p:g}: the draft head drafts a single node."
    if p > LEVEL_LEAST and config.eagle_depth > 1:
        return f"Above {LEVEL_LEAST:g}, draft_min_probability ends drafts at level 1: eagle_depth adds nothing."
    return ""


def _copy_hint(config: EngineConfig) -> str:
    n, least = config.draft_predict_length, config.eagle_lookup
    if not config.eagle_merge:
        return ""
    if not least:
        return "eagle_merge needs copied text: with eagle_lookup 0 nothing is copied."
    if n <= least:
        return f"{n} nodes are full with any copy of {least} tokens: eagle_merge does nothing."
    return ""
