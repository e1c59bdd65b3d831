"""The shared settings: one change, one signal, defaults of the model, values kept from before."""

import pytest

from engine import ConfigError, EngineConfig, SamplingConfig


def test_change_and_reset(settings):
    """Each slider sets one key and can go back."""
    heard = []
    settings.config_changed.connect(heard.append)
    settings.set_value("eagle_topk", 5)
    settings.set_value("eagle_topk", 5)
    assert heard == [EngineConfig(eagle_topk=5)]
    settings.reset("eagle_topk")
    assert settings.config == EngineConfig()


def test_sampling_is_separate(settings):
    """How to draw belongs to a conversation, how to decode to all of them: two signals."""
    heard = []
    settings.config_changed.connect(heard.append)
    settings.set_value("temperature", 0.7)
    assert settings.sampling.temperature == 0.7
    assert heard == []


def test_out_of_range_is_refused(settings):
    """The engine's own sentence reaches the caller; nothing changes."""
    with pytest.raises(ConfigError, match="eagle_depth"):
        settings.set_value("eagle_depth", 99)
    assert settings.config == EngineConfig()


def test_model_defaults_and_kept_values(settings):
    """A model brings its tuned defaults; what the user changed before comes back, nonsense does not."""
    defaults = EngineConfig(eagle_topk=4, eagle_depth=6, draft_predict_length=8)
    settings.set_defaults(defaults, {"eagle_topk": 2, "eagle_depth": 1000, "gone": 1})
    assert settings.config == defaults.with_(eagle_topk=2)
    assert settings.default("eagle_topk") == 4
    assert settings.changes() == {"eagle_topk": 2}


def test_a_model_brings_how_it_draws(settings):
    """Reset of the temperature goes back to what the model's makers advise."""
    settings.set_defaults(EngineConfig(), sampling=SamplingConfig(temperature=0.9))
    settings.set_value("temperature", 0.1)
    settings.reset("temperature")
    assert settings.sampling.temperature == 0.9
