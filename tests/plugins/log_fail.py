"""A warning or an error in the log that a test does not announce fails it.

`@pytest.mark.logs` announces it: such a test reads the records itself, with caplog.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "logs: the test expects log records at WARNING or above")


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def _no_unexpected_log(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail after the test, with what was logged."""
    collector = _Collector()
    logging.getLogger().addHandler(collector)
    yield
    logging.getLogger().removeHandler(collector)
    if collector.records and request.node.get_closest_marker("logs") is None:
        said = "\n".join(f"{r.levelname} {r.name}: {r.getMessage()}" for r in collector.records)
        pytest.fail(f"unexpected log records:\n{said}", pytrace=False)
