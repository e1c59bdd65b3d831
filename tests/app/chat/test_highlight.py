"""Names of languages, and lexers loaded where nobody waits for them."""

import sys

import pytest
from PySide6.QtCore import QThreadPool

from app.chat import highlight
from app.chat.body import MarkdownBody


@pytest.mark.parametrize(("word", "name"), [("py", "Python"), ("C++", "C++"), ("nonsense", "nonsense"), ("", "")])
def test_names_need_no_lexer(monkeypatch, word, name):
    """The name stands over code that has just begun; loading its lexer would hold the window up to 30 ms."""
    monkeypatch.setattr(highlight, "lexer_for", lambda language: pytest.fail("a lexer was loaded"))
    assert highlight.language_name(word) == name


def test_the_lexer_comes_while_the_code_is_being_written(qtbot):
    """When the code is complete its colours need nothing more."""
    highlight.lexer_for.cache_clear()
    sys.modules.pop("pygments.lexers.zig", None)
    body = MarkdownBody()
    qtbot.addWidget(body)
    body.append("```zig\nconst x = 1;\n")
    assert QThreadPool.globalInstance().waitForDone(5000)
    assert highlight.lexer_for.cache_info().currsize == 1
    body.append("```\n")
    body.finish()
    assert highlight.lexer_for.cache_info().misses == 1
    (block,) = body.blocks()
    assert block.view.accessibleName() == "Zig code"
