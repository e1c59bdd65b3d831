from app.chat.half_characters import HALF, ends_of, run_ends, settle


def test_one_half_may_end_at_several_bytes() -> None:
    """U+FFFD stands for any beginning of a character, but for one byte where it is no beginning."""
    data = "😀a".encode()
    assert ends_of(data, 0, HALF) == [1, 2, 3]
    assert ends_of(data, 1, HALF) == [2]
    assert ends_of(data, 2, HALF * 2 + "a") == [5]
    assert ends_of(data, 0, "a") == []


def test_a_run_ends_at_whole_characters() -> None:
    """Six halves are two or three characters of three bytes; a text that is too short says so."""
    text = "日日日日".encode()
    assert run_ends(text, [HALF] * 6) == ([6, 9], False)
    assert run_ends(text[:3], [HALF] * 6)[1]


def test_what_follows_tells_the_end() -> None:
    """The end that leads to the end of the text wins; a reply that still runs waits instead of guessing."""
    text = "日日日日".encode()
    assert settle(text, [6, 9], ["日"], final=True) == 9
    assert settle(text, [6, 9], ["日", "日"], final=True) == 6
    assert settle(text, [6, 9], ["日"], final=False) is None
    assert settle("日日日 a".encode(), [6, 9], ["<|x|>", " a"], final=False) == 9
