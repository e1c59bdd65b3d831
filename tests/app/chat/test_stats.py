from app.chat.stats import footer, message_stats
from tests.fake_turn import fake_turn


def test_numbers_below_a_reply() -> None:
    """From the records, in the words of the status line; nan is left out, and no name or number breaks in two."""
    turn = fake_turn(2, rounds=10)
    stats = message_stats(turn)
    assert stats["tokens"] == len(turn.tokens)
    assert stats["accepted"] == turn.stats().accepted
    line = footer(stats | {"model": "Small-135M"}, "length")
    assert f" · τ\u00a0{turn.stats().tau:.2f} · EAGLE\u20113\u00a0tree · Small\u2011135M · " in line
    assert line.endswith("stopped at the length limit")
    assert "seed" not in line
    assert "seed\u00a077 ·" in footer(message_stats(fake_turn(77, rounds=3, temperature=0.4)), "length")
    empty = message_stats(fake_turn(2, rounds=0))
    assert "nan" not in footer(empty, "cancelled")
    assert footer(stats | {"tokens": 0}, "cancelled") == "stopped"  # before the first word there is nothing to tell
    assert footer({}, "stop_token") == ""
    assert footer({"tokens": "many", "tau": None}, "stop_token") == ""
