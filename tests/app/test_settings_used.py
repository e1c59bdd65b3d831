"""What the sliders and choices say of the shown round: every value it used, and nothing that it does not tell."""

import json
from dataclasses import replace

import pytest

from app.settings_bar import SettingsBar
from app.settings_words import unused
from app.theme import theme
from app.trace_shelf import ASSETS
from engine import load_trace
from engine.trace_json import trace_from_json, trace_to_json
from tests.engine.test_trace_ages import LATER_SETTINGS
from tests.fake_turn import fake_turn


@pytest.fixture
def bar(settings, on_screen):
    """The bar over them, as wide as a small screen."""
    return on_screen(SettingsBar(settings), 1280, 500)


def notes(bar):
    """What each field says of the shown round."""
    return {key: field.used_note.text() for key, field in bar.fields.items()}


def test_shown_round_is_told_apart_from_the_present_value(bar, settings):
    """Looking back, the sliders still show what will happen next; the note says what happened then."""
    shown = fake_turn(1, topk=4, depth=5, length=10).rounds[3]
    bar.show_round(shown)
    assert "4" in bar.fields["eagle_topk"].used_note.text()
    bar.show_round(None)
    assert not any(notes(bar).values())


def test_plain_round_used_no_tree(bar):
    """Its tree settings were at rest."""
    bar.show_round(fake_turn(1, strategy="plain").rounds[0])
    assert not bar.fields["eagle_topk"].used_note.text()
    assert bar.fields["temperature"].used_note.text()


def test_every_field_shows_what_the_round_used(bar):
    """Also those that are no numbers; what a strategy never asks is not shown as used. The prompt was read once."""
    turn = fake_turn(1)
    used = replace(
        turn.rounds[0].settings, draft_min_probability=0.15, eagle_lookup=2, eagle_merge=True, exact=False,
        max_new_tokens=300, plain_rows=2, ngram_match_maxlen=3, draft_match_strictness="medium",
        draft_selection_rule="fcfs", ngram_update=True,
    )  # fmt: skip
    shown, prompt = {}, replace(turn.prefill, chunk=64)
    for strategy in ("eagle", "mtp", "lookahead", "plain"):
        bar.show_round(replace(turn.rounds[0], settings=replace(used, strategy=strategy)), prompt)
        found = {key: note for key, note in notes(bar).items() if note}
        assert not set(found) & unused(strategy)
        assert set(found) | unused(strategy) == set(bar.fields)
        shown |= found
    assert shown == {
        "eagle_topk": "used 4", "eagle_depth": "used 5", "draft_predict_length": "used 10", "temperature": "used 0",
        "max_new_tokens": "used 300", "top_k": "used 40", "top_p": "used 0.95", "min_p": "used 0",
        "repetition_penalty": "used 1", "draft_min_probability": "used 0.15", "eagle_lookup": "used 2",
        "eagle_merge": "used on", "exact": "used off", "plain_rows": "used 2", "prefill_chunk": "used 64",
        "ngram_match_maxlen": "used 3", "draft_match_strictness": "used medium", "draft_selection_rule": "used fcfs",
        "ngram_update": "used on",
    }  # fmt: skip
    assert "prompt" in bar.fields["prefill_chunk"].used_note.toolTip()


def test_an_old_recording_shows_nothing_that_it_does_not_tell(bar):
    """The first runs that were kept are older than most fields; a default there would be a guess."""
    document = json.loads(trace_to_json(load_trace(sorted(ASSETS.glob("*.json.gz"))[0])))
    for one in document["rounds"]:
        for name in LATER_SETTINGS:
            del one["settings"][name]
    del document["prefill"]["chunk"]
    turn = trace_from_json(json.dumps(document))
    bar.show_round(fake_turn(1).rounds[0], fake_turn(1).prefill)
    bar.show_round(turn.rounds[0], turn.prefill)
    told = {key for key, note in notes(bar).items() if note}
    assert {"eagle_topk", "temperature", "top_k"} <= told
    assert not told & {"eagle_lookup", "eagle_merge", "exact", "max_new_tokens", "plain_rows", "prefill_chunk"}


def test_a_choice_that_differs_from_the_shown_round_stands_out(bar, settings):
    """As with the sliders: the present value is not what made this round."""
    shown, field = fake_turn(1).rounds[0], bar.fields["exact"]
    bar.show_round(shown)
    same = field.used_note.styleSheet()
    settings.set_value("exact", False)
    assert field.used_note.text() == "used on"
    assert theme().color("warning").name() in field.used_note.styleSheet()
    settings.set_value("exact", True)
    assert field.used_note.styleSheet() == same


@pytest.mark.parametrize("strategy", ["eagle", "lookahead"])
def test_no_note_is_cut(bar, qtbot, strategy):
    """Key, range and a long value that was used stand in one line of a field."""
    turn = fake_turn(1)
    used = replace(
        turn.rounds[0].settings, strategy=strategy, draft_match_strictness="medium", draft_min_probability=0.15,
        max_new_tokens=16384, top_k=1000, repetition_penalty=1.05, eagle_lookup=16,
    )  # fmt: skip
    bar.more_button.click()
    bar.show_round(replace(turn.rounds[0], settings=used), replace(turn.prefill, chunk=4096))
    qtbot.wait(20)
    for key, field in bar.fields.items():
        for label in (field.key_label, field.used_note):
            assert label.width() >= label.sizeHint().width(), key
