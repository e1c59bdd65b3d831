"""ChatTemplate: what Hugging Face templates rely on works, and a hostile one reaches nothing and ends."""

from __future__ import annotations

import time

import pytest

from engine import chat_template
from engine.chat_template import ChatTemplate
from engine.errors import ModelFolderError

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def render(source: str, **options: bool) -> str:
    """Render the two-message conversation."""
    return ChatTemplate(source, name="Tiny", bos_token="<s>", eos_token="</s>").render(CHAT, **options)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", "<s>Hi</s>"),
        ("{% for m in messages %}\n  {% if true %}\n{{ m['role'] }}\n  {% endif %}\n{% endfor %}", "user\nassistant\n"),
        ("{% for m in messages %}{{ m.content }}{% break %}{% endfor %}", "Hi"),
        ("{{ messages | tojson }}", '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]'),
        ("{{ '<é>' | tojson }}", '"<é>"'),
        ("{{ {'b': 1} | tojson(indent=2) }}", '{\n  "b": 1\n}'),
        ("{% if tools is none %}none{% endif %}", "none"),
        ("{% generation %}{{ messages[1].content }}{% endgeneration %}", "Hello"),
        ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "2"),
        ("{% macro f(x) %}[{{ x }}]{% endmacro %}{{ f(1) }}{{ f(2) }}", "[1][2]"),
        ("{{ ' x '.strip() }}{{ messages[0].content.split('i')[0] }}{{ messages | length }}", "xH2"),
        ("{{ strftime_now('%Y') | int > 2000 }}", "True"),
        ("{{ '=' * 20 }}{{ 2 ** 10 }}{{ 3 * 4 }}{{ 1.5 * 2 }}", "=" * 20 + "1024123.0"),
        ("{{ add_generation_prompt }}", "True"),
        ("{{ undefined_name }}", ""),
        ("text\n", "text"),
    ],
)
def test_templates_render_as_hugging_face_does(source: str, expected: str) -> None:
    """Published templates use exactly these features; one that renders otherwise lowers the model's answers."""
    assert render(source) == expected


def test_the_generation_prompt_can_be_left_out() -> None:
    """Counting and training need the conversation alone."""
    assert render("{{ add_generation_prompt }}", add_generation_prompt=False) == "False"


def test_a_template_that_refuses_is_quoted() -> None:
    """Templates say in words which conversations they cannot hold."""
    with pytest.raises(ModelFolderError, match=r"^The chat template of Tiny failed: roles must alternate\.$"):
        render("{{ raise_exception('roles must alternate.') }}")


@pytest.mark.parametrize(
    "source", ["{% for %}", "{{ x", "{% endif %}", "{{ " + "(" * 5000 + " }}", "{% include 'a' %}"]
)
def test_what_cannot_be_read_is_one_sentence(source: str) -> None:
    """A damaged template must not show a traceback, whichever way it breaks."""
    with pytest.raises(ModelFolderError, match=r"^The chat template of Tiny [^\n]+\.$"):
        render(source)


def test_a_giant_template_is_refused() -> None:
    """Compiling megabytes of template would freeze the window."""
    with pytest.raises(ModelFolderError, match="longer than"):
        render("x" * (chat_template.LONGEST_TEMPLATE + 1))


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__ }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'x'}) }}",
        "{{ raise_exception.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__['os'] }}",
        "{{ lipsum.__globals__ }}",
        "{{ strftime_now.__globals__ }}",
        "{{ ''|attr('__class__') }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ raise_exception.__code__ }}",
        "{% import 'os' as os %}",
        "{{ open('/etc/passwd') }}",
        "{{ __import__('os') }}",
    ],
)
def test_a_hostile_template_reaches_nothing(source: str) -> None:
    """A model file from anywhere must not be able to run code or touch files: jinja2 refuses, or shows nothing."""
    try:
        shown = render(source)
    except ModelFolderError:
        shown = ""
    assert not shown


def test_messages_stay_as_they_are() -> None:
    """Rendering must not change the conversation that the session keeps."""
    chat = [{"role": "user", "content": "Hi"}]
    with pytest.raises(ModelFolderError):
        ChatTemplate("{% set _ = messages[0].pop('role') %}", name="Tiny").render(chat)
    assert chat == [{"role": "user", "content": "Hi"}]


ENDLESS = {
    "huge range": "{% for i in range(10**9) %}{% endfor %}",
    "nested ranges": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "nested text": "{% set t = 'a' * 99999 %}{% for a in t %}{% for b in t %}{% endfor %}{% endfor %}",
    "macro that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "macros that fan out": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recursive loop": "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
    "clock replaced": "{% set tick = 1 %}{% for i in range(9999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "large text": "{{ 'a' * 10**10 }}",
    "large list": "{{ ([0] * 10**10) | length }}",
    "large number": "{{ 9 ** 99999 }}",
    "products of products": "{{ 'a' * 999999 * 999999 }}",
    "writes without end": "{% set t = 'a' * 999999 %}{% for i in range(99999) %}{{ t }}{% endfor %}",
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_a_template_without_end_is_stopped(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window calls this while the user types; a model file must not be able to hang it."""
    monkeypatch.setattr(chat_template, "RENDER_SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(ModelFolderError, match="failed: "):
        render(source)
    assert time.monotonic() - began < 5


def test_a_long_conversation_is_not_stopped_by_the_clock() -> None:
    """The deadline is for endless loops only."""
    chat = [{"role": "user", "content": "word " * 200}] * 2000
    text = ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", name="Tiny").render(chat)
    assert len(text) == 2_000_000
