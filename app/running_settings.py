"""What the sliders say, for the reply that runs: a change acts at its next round. Knows no widget."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.chat.pane import ChatPane
from app.engine_link import EngineLink
from app.engine_settings import EngineSettings
from app.turn_controller import TurnController
from engine import EngineConfig, SamplingConfig


class RunningSettings(QObject):
    """Hands changes on to the engine.

    Sampling and the longest reply belong to a conversation: while another one than that of the running reply is shown,
    its values are not the running reply's.
    """

    def __init__(
        self, link: EngineLink, settings: EngineSettings, turns: TurnController, pane: ChatPane, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._link, self._turns, self._pane = link, turns, pane
        self._reply = self._limit = 0  # of the running turn: its message, and how long it may get
        settings.config_changed.connect(self._config_changed)
        settings.sampling_changed.connect(self._sampling_changed)

    def _elsewhere(self) -> bool:
        """Whether a reply runs in another conversation than the shown one."""
        request = self._turns.request
        return request is not None and request.chat != self._pane.chat

    def _config_changed(self, config: EngineConfig) -> None:
        request = self._turns.request
        if request is not None and request.message != self._reply:
            self._reply, self._limit = request.message, request.max_new_tokens
        if self._elsewhere():
            config = config.with_(max_new_tokens=self._limit)
        else:
            self._limit = config.max_new_tokens
        self._link.set_config(config)

    def _sampling_changed(self, sampling: SamplingConfig) -> None:
        request = self._turns.request
        if request is not None and not self._elsewhere():
            self._link.set_sampling(sampling.with_(seed=request.sampling.seed))  # a reply keeps its own
