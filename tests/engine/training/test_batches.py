"""What is trained on when, and what each row predicts, by hand."""

from __future__ import annotations

import numpy as np

from engine.training import batches
from engine.training.conversations import Conversation, DataSet


def talk(length: int, *spans: tuple[int, int], seed: int = 0) -> Conversation:
    """Random ids."""
    return Conversation(np.random.default_rng(seed).integers(3, 90, length).astype(np.int32), spans)


def many(count: int = 200) -> DataSet:
    """Conversations of many lengths."""
    lengths = np.random.default_rng(5).integers(8, 60, count)
    return DataSet.of([talk(int(n), (3, int(n)), seed=i) for i, n in enumerate(lengths)])


def test_steps_left_by_hand() -> None:
    """Row t pairs with token t + 1 and predicts t + 2: the first token of a reply is never drafted."""
    #        tokens 0 1 2 [3 4 5 6] 7 8 [9 10]
    left = batches.steps_left(talk(11, (3, 7), (9, 11)))
    assert left.tolist() == [0, 0, 3, 2, 1, 0, 0, 0, 1, 0, 0]


def test_a_reply_of_one_token_teaches_nothing() -> None:
    """There is no second token to foresee."""
    assert not batches.steps_left(talk(5, (4, 5))).any()
    assert batches.steps_left(talk(5, (0, 5))).tolist() == [3, 2, 1, 0, 0]


def test_held_out_conversations_stay_when_data_is_added() -> None:
    """A head must never be scored on what an earlier sitting trained it on."""
    data = many()
    training, held = batches.split(data, 0.2)
    more = DataSet.of([data[i] for i in range(len(data))] + [talk(20, (3, 20), seed=1000 + i) for i in range(50)])
    _, held_more = batches.split(more, 0.2)
    assert sorted([*training, *held]) == list(range(len(data)))
    assert 20 < len(held) < 60
    assert [i for i in held_more if i < len(data)] == held.tolist()
    assert min(batches.split(data, 0.2, first=100)[1]) >= 100


def test_an_epoch_is_everything_once_in_batches_of_like_length() -> None:
    """No conversation is left out, none comes twice, little is padding."""
    data = many()
    which = np.arange(10, 190)
    found = batches.epoch(data, which, 400, seed=1, number=0)
    assert sorted(i for batch in found for i in batch) == which.tolist()
    sizes = [(len(batch) * data.lengths[batch].max(), data.lengths[batch].sum()) for batch in found]
    assert all(padded <= 400 for padded, _ in sizes)
    assert sum(real for _, real in sizes) > 0.9 * sum(padded for padded, _ in sizes)


def test_epochs_differ_and_repeat() -> None:
    """The order is new in every pass, and the same for the same seed: that is what resuming rests on."""
    data = many()
    which = np.arange(len(data))
    first, again, second = (batches.epoch(data, which, 400, 1, number) for number in (0, 0, 1))
    assert [b.tolist() for b in first] == [b.tolist() for b in again]
    assert [b.tolist() for b in first] != [b.tolist() for b in second]


def test_a_conversation_longer_than_a_batch_has_one_of_its_own() -> None:
    """It must not be dropped, nor end the run."""
    data = DataSet.of([talk(500, (3, 500)), talk(10, (3, 10)), talk(12, (3, 12))])
    found = batches.epoch(data, np.arange(3), 64, 0, 0)
    assert sorted(len(batch) for batch in found) == [1, 2]


def test_a_batch_is_padded_at_the_end() -> None:
    """Attention is causal, so padding behind a conversation changes nothing in it."""
    data = DataSet.of([talk(6, (3, 6)), talk(4, (1, 4), seed=2)])
    batch = batches.make_batch(data, [1, 0])
    assert batch.which == (1, 0)
    assert batch.ids[0].tolist() == [*data[1].ids, 0, 0]
    assert batch.steps_left.tolist() == [[2, 1, 0, 0, 0, 0], [0, 0, 2, 1, 0, 0]]
