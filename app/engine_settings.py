"""The settings in force, shared by toolbar, sliders and whoever starts a turn. Knows no widget and no engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from PySide6.QtCore import QObject, Signal

from engine import CHAT_SAMPLING, ConfigError, EngineConfig, SamplingConfig

ENGINE_KEYS = tuple(f.name for f in fields(EngineConfig))


class EngineSettings(QObject):
    """How to decode (`config`) and how to draw tokens (`sampling`), with the defaults a reset goes back to.

    Signals:
        config_changed(EngineConfig), sampling_changed(SamplingConfig): act at the next round.
        defaults_changed(): another model has other defaults.
    """

    config_changed = Signal(object)
    sampling_changed = Signal(object)
    defaults_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.config = self.default_config = EngineConfig()
        self.sampling = self.default_sampling = CHAT_SAMPLING

    def value(self, key: str) -> Any:
        """Present value of a setting."""
        return getattr(self.config if key in ENGINE_KEYS else self.sampling, key)

    def default(self, key: str) -> Any:
        """What a reset of the setting gives."""
        return getattr(self.default_config if key in ENGINE_KEYS else self.default_sampling, key)

    def set_value(self, key: str, value: Any) -> None:
        """Change one setting. Raises `ConfigError` when it is out of range."""
        if key in ENGINE_KEYS:
            self.set_config(self.config.with_(**{key: value}))
        else:
            self.set_sampling(self.sampling.with_(**{key: value}))

    def reset(self, key: str) -> None:
        """Back to the default."""
        self.set_value(key, self.default(key))

    def set_config(self, config: EngineConfig) -> None:
        """Replace all engine settings."""
        if config != self.config:
            self.config = config
            self.config_changed.emit(config)

    def set_sampling(self, sampling: SamplingConfig) -> None:
        """Replace all sampling settings."""
        if sampling != self.sampling:
            self.sampling = sampling
            self.sampling_changed.emit(sampling)

    def set_defaults(
        self, config: EngineConfig, kept: Mapping[str, Any] | None = None, sampling: SamplingConfig = CHAT_SAMPLING
    ) -> None:
        """Use a model's defaults, with the values `kept` from an earlier session where they still make sense.

        What `sampling` comes to depends on the conversation: `SamplingSync` takes it from there.
        """
        self.default_config, self.default_sampling = config, sampling
        self.defaults_changed.emit()
        for key, value in (kept or {}).items():
            try:
                config = config.with_(**{key: value})
            except (ConfigError, TypeError):
                continue
        self.set_config(config)

    def changes(self) -> dict[str, Any]:
        """Engine settings that differ from the defaults."""
        default = asdict(self.default_config)
        return {key: value for key, value in asdict(self.config).items() if value != default[key]}
