"""Keeps the sliders and the conversation's own fields the same: one truth per conversation, shown in two places.

The seed has no slider: it stays with the conversation.
"""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.chat.sampling_panel import SamplingPanel
from app.engine_settings import EngineSettings
from engine import ConfigError


class SamplingSync(QObject):
    """`pull` after another conversation was opened; the rest happens by itself."""

    def __init__(self, panel: SamplingPanel, settings: EngineSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._settings = panel, settings
        self._busy = False
        settings.sampling_changed.connect(self._push)
        settings.config_changed.connect(self._push)
        settings.defaults_changed.connect(self._defaults)
        for field in panel.fields.values():
            field.edited.connect(self._edited)

    def pull(self) -> None:
        """Take the conversation's values into the sliders."""
        if self._busy:
            return
        self._busy = True
        try:
            self._settings.set_sampling(self._panel.sampling())
            self._settings.set_value("max_new_tokens", self._panel.max_new_tokens())
        except ConfigError:  # half-typed: the field says so itself
            pass
        finally:
            self._busy = False

    def _edited(self) -> None:
        """By the user: the fields of a conversation that is being opened come all at once, and `pull` follows."""
        if not self._panel.loading:
            self.pull()

    def _push(self, *_: object) -> None:
        if self._busy:
            return
        self._busy = True
        for name, field in self._panel.fields.items():
            value = self._settings.value(name)
            value = list(value) if name == "stop" else value
            if name != "seed" and field.value() != value:
                field.set_value(value)
        self._busy = False

    def _defaults(self) -> None:
        self._panel.set_defaults(self._settings.default_sampling, self._settings.default_config.max_new_tokens)
        self.pull()
