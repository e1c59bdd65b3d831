"""The default model stops in the middle of a pass."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from engine.config import EngineConfig
from engine.model import Model
from engine.models.setup import ensure_model
from engine.session import ChatSession
from engine.trace import Prefill, PrefillProgress, TurnEnd
from tests.turns import record, user

pytestmark = [pytest.mark.model, pytest.mark.alone]


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    """As a user has it: fetched and converted once into the cache."""
    model = Model.load(ensure_model())
    yield model
    model.close()


@pytest.mark.parametrize("during", ["prefill", "rounds"])
def test_stop_takes_effect_within_200_ms(model: Model, during: str) -> None:
    """Whatever pass is running; the best of three, for machines that are busy with other things."""
    session = ChatSession(model, EngineConfig(max_new_tokens=200, prefill_chunk=512))
    text = "Tell me more about this. " * (150 if during == "prefill" else 5)
    assert min(_stop_time(session, f"{number} {text}", during) for number in range(3)) < 0.2
    assert record(session.generate(user("What is the capital of France?"))).end.finish_reason == "stop_token"


def _stop_time(session: ChatSession, text: str, during: str) -> float:
    """Seconds from the call, in the middle of a pass, to the end of the turn."""
    asked: list[float] = []

    def stop() -> None:
        asked.append(time.perf_counter())
        session.stop()

    timer = threading.Timer(0.05, stop)
    for event in session.generate(user(text)):
        if (
            isinstance(event, PrefillProgress if during == "prefill" else Prefill)
            and not timer.is_alive()
            and not asked
        ):
            timer.start()
        if isinstance(event, TurnEnd):
            assert event.finish_reason == "cancelled"
    timer.join()
    return time.perf_counter() - asked[0]
