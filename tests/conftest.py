"""What every test runs under. Each concern is a plugin of its own in tests/plugins."""

from __future__ import annotations

pytest_plugins = ["tests.plugins.log_fail", "tests.plugins.default_model", "tests.plugins.patience"]
