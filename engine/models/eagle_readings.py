"""What a head's config.json says in a way that can be read twice: which hidden streams, which rotary base.

Each is given as the preferred reading and the other plausible ones; measuring decides (`eagle_checkpoint.variants`).
"""

from __future__ import annotations

from engine.errors import CheckpointError
from engine.models.dims import ModelDims, default_taps
from engine.models.json_fields import Fields

Taps = tuple[int, ...]

UNWRITTEN_ROPE_THETA = 10_000.0  # what EAGLE's own code and Hugging Face fall back to
_TAP_KEYS = {  # key → readings in order of preference, as what is added to get "layers executed before capture"
    "eagle_aux_hidden_state_layer_ids": (0, 1),
    "aux_hidden_state_layer_ids": (0, 1),
    "hidden_layers_list": (0, 1),
    "target_layer_ids": (1, 0),
}
_NESTED_TAP_SHIFTS = (1, 0)  # eagle_config holds the ids of layers whose output is read


def read_taps(raw: Fields, flat: Fields, target: ModelDims, warnings: list[str]) -> tuple[Taps, tuple[Taps, ...]]:
    """The preferred reading of the ids of the hidden streams, and the others; adds to `warnings`.

    Nested ids count layers whose output is read (k = id + 1), top-level ones count as Hugging Face's hidden_states
    (k = id). A reading that gives EAGLE-3's usual choice is beyond doubt; otherwise the neighbour stays possible.
    """
    standard = default_taps(target.layer_nums)
    key, shifts = "eagle_aux_hidden_state_layer_ids", _NESTED_TAP_SHIFTS
    ids = raw.nested("eagle_config").wholes(key)
    for key in _TAP_KEYS if ids is None else ():
        if (ids := flat.wholes(key)) is not None:
            shifts = _TAP_KEYS[key]
            break
    if ids is None:
        return standard, ()
    if len(ids) != 3 or len(set(ids)) != 3:
        raise CheckpointError(f"{key} is {list(ids)}: three different layers are expected.")
    if ids != tuple(sorted(ids)):
        warnings.append(f"{key} is {list(ids)}, not in ascending order: the streams are taken low to high.")
    readings = [tuple(sorted(i + shift for i in ids)) for shift in shifts]
    possible = [taps for taps in readings if taps[-1] <= target.layer_nums]
    if not possible:
        raise CheckpointError(
            f"{key} is {list(ids)} and the target has {target.layer_nums} layers: the head is for another model."
        )
    return possible[0], () if possible[0] == standard else tuple(possible[1:])


def read_rope(flat: Fields, target: ModelDims, warnings: list[str]) -> tuple[float, tuple[float, ...]]:
    """Rotary base of the draft layer, and another that may be meant; adds to `warnings`.

    Scaled kinds are refused by name.
    """
    theta = flat.number("rope_theta", None)
    for key in ("rope_parameters", "rope_scaling"):
        rope = flat.nested(key)
        kind = rope.values.get("rope_type", rope.values.get("type", "default"))
        if any(isinstance(value, dict) for value in rope.values.values()):
            kind = "per-layer"
        if "mrope_section" in rope.values:
            kind = "mrope"
        if kind != "default":
            raise CheckpointError(f"{key} asks for {kind} rotary positions: only unscaled ones are supported.")
        if rope.number("partial_rotary_factor", flat.number("partial_rotary_factor", 1.0)) != 1.0:
            raise CheckpointError("partial_rotary_factor is not 1: only full rotary positions are supported.")
        theta = rope.number("rope_theta", None) if theta is None else theta
    if theta is not None:
        return theta, ()
    warnings.append(f"Its config.json has no rope_theta: the target's, {target.rope_theta:g}, is used.")
    return target.rope_theta, () if target.rope_theta == UNWRITTEN_ROPE_THETA else (UNWRITTEN_ROPE_THETA,)
