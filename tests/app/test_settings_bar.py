"""The sliders: both ways between widget and settings, the shown round's values, resets, and what cannot be done."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QLineEdit,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from app.setting_field import Scale, SettingField
from app.settings_bar import SettingsBar
from app.settings_words import MAIN_KEYS, MORE_KEYS
from app.theme import FONT_SIZE_MAX, theme
from engine import RANGES, EngineConfig


@pytest.fixture
def bar(settings, on_screen):
    """The bar over them."""
    return on_screen(SettingsBar(settings), 1240, 200)


@pytest.mark.parametrize("key", [k for k in RANGES if k != "seed"])
def test_scale_reaches_its_ends_and_returns(key):
    """Position → value → position must not creep, or the slider moves under the mouse."""
    scale = Scale(key, RANGES[key])
    assert scale.value(0) == RANGES[key].low
    assert scale.value(scale.steps) == pytest.approx(min(RANGES[key].high, scale.high))
    values = [scale.value(i) for i in range(scale.steps + 1)]
    assert values == sorted(values)
    for value in set(values):
        assert scale.value(scale.position(value)) == value
        RANGES[key].check(key, value, float if scale.step else int)


def test_every_slider_says_when_it_acts(bar):
    """All but one act on the reply that is being written."""
    late = {k for k, field in bar.fields.items() if "Acts at the next round." not in field.toolTip()}
    assert late == {"prefill_chunk"}
    assert "Acts when the next prompt is read." in bar.fields["prefill_chunk"].toolTip()


def test_slider_changes_the_setting(bar, settings):
    """The point of a slider."""
    bar.fields["eagle_topk"].slider.setValue(7)
    bar.fields["temperature"].slider.setValue(14)
    assert settings.config.eagle_topk == 8
    assert settings.sampling.temperature == pytest.approx(0.7)
    assert bar.fields["eagle_topk"].number.value() == 8


def test_number_may_exceed_the_slider(bar, settings):
    """The slider covers what is usual, the field what is allowed."""
    bar.fields["temperature"].number.setValue(4.5)
    assert settings.sampling.temperature == 4.5
    assert bar.fields["temperature"].slider.value() == bar.fields["temperature"].slider.maximum()


def test_settings_changed_elsewhere_move_the_slider(bar, settings):
    """Another chat has another temperature; a model has other defaults."""
    settings.set_defaults(EngineConfig(eagle_topk=4, eagle_depth=6, draft_predict_length=12))
    assert bar.fields["eagle_depth"].slider.value() == 5
    assert "6" in bar.fields["eagle_depth"].reset_button.text()
    assert "4 + 5·16 = 84" in bar.sums.text()


def test_reset_is_offered_only_when_it_does_something(bar, settings, qtbot):
    """And goes back to the model's default."""
    field = bar.fields["draft_predict_length"]
    assert not field.reset_button.isEnabled()
    field.number.setValue(9)
    assert field.reset_button.isEnabled()
    qtbot.mouseClick(field.reset_button, Qt.MouseButton.LeftButton)
    assert settings.config == EngineConfig()


def test_plain_strategy_rests_the_tree_sliders(bar, settings):
    """A slider that does nothing must not look as if it did."""
    settings.set_value("speculative_type", "plain")
    assert not bar.fields["eagle_topk"].isEnabled()
    assert bar.fields["temperature"].isEnabled()
    assert "rest" in bar.sums.text()


def test_words_and_switches(bar, settings, qtbot):
    """Settings that are no numbers, with their reset."""
    field = bar.fields["exact"]
    field.choice.setCurrentText("off")
    field.choice.activated.emit(field.choice.currentIndex())
    assert settings.config.exact is False
    assert field.reset_button.text() == "↺ on"
    field.reset_button.click()
    assert settings.config.exact is True
    settings.set_value("speculative_type", "lookahead")
    assert bar.fields["draft_selection_rule"].isEnabled()
    settings.set_value("draft_selection_rule", "fcfs")
    assert bar.fields["draft_selection_rule"].choice.currentText() == "fcfs"


def test_hint_appears_and_goes(bar, settings):
    """A chain with more nodes than levels."""
    assert bar.hint.isHidden()
    settings.set_value("draft_predict_length", 8)
    assert "chain" in bar.hint.text()
    settings.set_value("eagle_topk", 4)
    assert bar.hint.isHidden()


def test_wheel_over_an_unused_field_changes_nothing(bar, settings):
    """Scrolling past must not retune the engine."""
    slider = bar.fields["eagle_topk"].slider
    position = QPointF(5, 5)
    wheel = QWheelEvent(
        position, slider.mapToGlobal(position), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    assert bar.fields["eagle_topk"].eventFilter(slider, wheel)
    assert not bar.fields["eagle_topk"].eventFilter(slider, QEvent(QEvent.Type.Enter))
    assert settings.config.eagle_topk == 1


def test_more_and_less(bar, qtbot):
    """The rest is one click away and remembered by the window."""
    assert bar.fields["top_p"].isHidden() or not bar.fields["top_p"].isVisible()
    with qtbot.waitSignal(bar.more_toggled):
        bar.more_button.click()
    assert bar.fields["top_p"].isVisible()


def test_columns_follow_the_width(bar):
    """Usable in half a screen too."""
    assert bar._main.columns == 5
    bar.resize(700, 300)
    assert bar._main.columns == 3


def test_larger_text_gets_wider_columns(bar):
    """At the largest size the bar still fits beside nothing else on a small screen, and no number is cut."""
    theme().set_font_size(FONT_SIZE_MAX)
    assert bar._main.columns < 5
    assert bar.minimumSizeHint().width() <= 1000
    for field in bar.fields.values():
        if isinstance(field, SettingField):
            assert field.number.width() >= field.number.fontMetrics().horizontalAdvance(field.number.text()) + 20


def test_everything_is_named(bar):
    """For screen readers."""
    kinds = (QSlider, QAbstractSpinBox, QLineEdit, QAbstractButton)
    for widget in [w for kind in kinds for w in bar.findChildren(kind)]:
        if widget.objectName() != "qt_spinbox_lineedit":
            assert widget.accessibleName() or len(getattr(widget, "text", str)()) > 1, widget


def test_every_stop_of_tab_has_a_name(bar):
    """Also the scrolled area behind More, which takes the focus to be scrolled by keys."""
    bar.more_button.click()
    stops = [w for w in bar.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus and w.isVisibleTo(bar)]
    assert bar.rest in stops
    assert not [w for w in stops if not w.accessibleName() and not getattr(w, "text", str)()]


def test_a_hint_that_comes_moves_nothing(settings, qtbot):
    """Tree and charts above were laid out anew each time: 20 ms of a switch between two chats."""
    host = QWidget()
    qtbot.addWidget(host)
    bar = SettingsBar(settings)
    layout = QVBoxLayout(host)
    layout.addWidget(QWidget(), 1)
    layout.addWidget(bar)
    host.resize(1280, 600)
    with qtbot.waitExposed(host):
        host.show()
    qtbot.wait(50)  # the first layout comes in more than one turn of the event loop
    assert not bar.hint.isVisible()
    before = bar.geometry(), bar.more_button.geometry(), bar.sums.geometry()
    settings.set_sampling(replace(settings.sampling, top_k=1))
    qtbot.waitUntil(bar.hint.isVisible)
    qtbot.wait(10)
    assert (bar.geometry(), bar.more_button.geometry(), bar.sums.geometry()) == before


@pytest.fixture
def low(settings, qtbot):
    """The bar below something that wants all the room, 1280 pixels wide, with more settings than it has room for."""
    host = QWidget()
    qtbot.addWidget(host)
    bar = SettingsBar(settings)
    above = QWidget()
    above.setMinimumHeight(444)
    layout = QVBoxLayout(host)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(above, 1)
    layout.addWidget(bar)
    host.resize(1280, 680)
    with qtbot.waitExposed(host):
        host.show()
    bar.more_button.click()
    qtbot.waitUntil(bar.rest.verticalScrollBar().isVisible)
    qtbot.wait(10)
    bar.host = host
    return bar


def test_two_rows_of_more_settings_are_whole_in_a_low_window(low):
    """At 1280 by 800 one row showed, behind a scroll bar as high as itself."""
    fields = [low.fields[key] for key in MORE_KEYS]
    seen = low.rest.viewport().rect()
    whole = [f for f in fields if seen.contains(f.geometry().translated(f.parentWidget().pos()))]
    assert len(whole) == 2 * low._more.columns


def test_a_wheel_over_a_field_scrolls_the_rows(low, settings):
    """Fields cover nearly all of them; they swallowed it."""
    slider, bar = low.fields[MORE_KEYS[0]].slider, low.rest.verticalScrollBar()
    before, place = settings.sampling, slider.mapTo(low.host, slider.rect().center())
    QTest.wheelEvent(low.host.windowHandle(), QPointF(place), QPoint(0, -120))
    assert bar.value() > 0
    assert settings.sampling == before


def test_both_grids_have_their_columns_in_line(low):
    """The scroll bar of the lower one pushed its columns out of those above."""
    assert low.rest.verticalScrollBar().isVisible()
    upper = [low.fields[key].mapTo(low, QPoint()).x() for key in MAIN_KEYS]
    lower = [low.fields[key].mapTo(low, QPoint()).x() for key in MORE_KEYS[: len(MAIN_KEYS)]]
    assert lower == upper


def test_no_name_of_a_setting_is_cut(low):
    """“Min draft chanc” stood there."""
    for key, field in low.fields.items():
        assert field.title.width() >= field.title.sizeHint().width(), key


@pytest.mark.parametrize("merge", [False, True])
def test_what_the_settings_come_to_stands_in_one_line(settings, merge, on_screen):
    """Half of a wide window was kept free for a hint, and the sums broke in the middle of a term."""
    settings.set_config(
        EngineConfig(eagle_topk=4, eagle_depth=5, draft_predict_length=16, draft_min_probability=0.15, eagle_lookup=2,
                     eagle_merge=merge)
    )  # fmt: skip
    bar = on_screen(SettingsBar(settings), 1280, 200)
    assert bar.sums.height() < 2 * bar.sums.fontMetrics().lineSpacing()
