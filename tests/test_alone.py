from __future__ import annotations

import json
import os
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.plugins import alone

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
SPREAD = ("-n2", "--dist=loadfile", "--no-loadscope-reorder")
SOURCE = """
import json, os, time
import pytest

def note(alone, pause=0.03):
    began = time.monotonic()
    time.sleep(pause)
    with open("ran", "a") as file:
        file.write(json.dumps([os.getpid(), __file__, alone, began, time.monotonic()]) + "\\n")

@pytest.mark.alone
@pytest.mark.parametrize("number", range(3))
def test_that_measures(number):
    note(True)

@pytest.mark.parametrize("number", range(6))
def test_like_most(number):
    note(False)
"""
OTHER = SOURCE.replace("@pytest.mark.alone\n", "").replace("note(True)", "note(False)")


class Ran(NamedTuple):
    """When a test ran, and where."""

    process: int
    file: str
    alone: bool
    began: float
    ended: float


def meet(pair: tuple[Ran, Ran]) -> bool:
    """Whether both ran at some time."""
    return max(test.began for test in pair) < min(test.ended for test in pair)


def test_nothing_runs_beside_a_test_that_runs_alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy neighbour would make bounds on time fail now and then. The others do run two at once."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    pytester.makepyfile(test_a=SOURCE, test_b=SOURCE, test_c=OTHER)
    pytester.runpytest_subprocess("-p", "tests.plugins.alone", *SPREAD).assert_outcomes(passed=27)
    ran = [Ran(*json.loads(line)) for line in (pytester.path / "ran").read_text().splitlines()]
    assert len({test.process for test in ran}) == 2
    met = [pair for pair in combinations(ran, 2) if meet(pair)]
    assert len(met) >= 3
    assert not any(test.alone for pair in met for test in pair)
    for file in {test.file for test in ran}:
        assert len({test.process for test in ran if test.file == file}) == 1


@pytest.mark.parametrize(
    ("cores", "arguments", "expected"),
    [
        (2, [], 2),
        (64, ["-x", "--durations=9", "tests"], 2),
        (1, [], 0),
        (2, ["tests/test_a.py::test_b"], 0),
        (2, ["-k", "tree"], 0),
        (2, ["-s"], 0),
        (2, ["--collect-only"], 0),
    ],
)
def test_few_tests_are_run_in_order_by_one_process(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, cores: int, arguments: list[str], expected: int
) -> None:
    """Whoever runs one file again and again waits for no second process, and sees what the tests print."""
    monkeypatch.setattr(alone, "default_threads", lambda: cores)
    assert alone.pytest_xdist_auto_num_workers(pytester.parseconfig(*arguments)) == expected
