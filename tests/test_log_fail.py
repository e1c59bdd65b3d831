from __future__ import annotations

import logging

import pytest

pytest_plugins = ["pytester"]

SOURCE = """
import logging, pytest

def test_unexpected():
    logging.getLogger("eyrie").warning("the sky falls")

@pytest.mark.logs
def test_announced():
    logging.getLogger("eyrie").warning("as expected")

def test_quiet():
    logging.getLogger("eyrie").info("nothing to see")
"""


@pytest.mark.logs
def test_only_an_unannounced_warning_fails(pytester: pytest.Pytester) -> None:
    """A warning nobody expected is a fault that must not scroll by."""
    pytester.makepyfile(SOURCE)
    result = pytester.runpytest_inprocess("-p", "tests.plugins.log_fail", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*WARNING eyrie: the sky falls"])


@pytest.mark.logs
def test_the_marker_works_in_this_suite(caplog: pytest.LogCaptureFixture) -> None:
    """The plugin is loaded here, and a marked test passes."""
    logging.getLogger("eyrie").warning("expected")
    assert caplog.messages == ["expected"]
