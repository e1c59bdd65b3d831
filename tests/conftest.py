"""What every test runs under. Each concern is a plugin of its own in tests/plugins."""

from __future__ import annotations

import onnxruntime  # noqa: F401  (before Qt, as main.py does: the processes of pytest-xdist begin here)

pytest_plugins = [
    "tests.plugins.log_fail",
    "tests.plugins.default_model",
    "tests.plugins.patience",
    "tests.plugins.alone",
]
