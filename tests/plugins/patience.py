"""Property tests have no deadline per example: the first one loads libraries, and test machines are busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("eyrie", deadline=None)
settings.load_profile("eyrie")
