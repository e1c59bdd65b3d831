"""The road from the engine's thread to the window: ordered, bounded, nothing dropped."""

import threading

from app.record_queue import RecordQueue


def test_keeps_order_across_threads():
    """A reply whose rounds arrive out of order is garbage."""
    queue: RecordQueue[int] = RecordQueue(capacity=7)
    producer = threading.Thread(target=lambda: [queue.put(i) for i in range(1000)])
    producer.start()
    seen: list[int] = []
    while len(seen) < 1000:
        seen += queue.drain(limit=5)
    producer.join(5)
    assert seen == list(range(1000))


def test_full_queue_makes_the_producer_wait():
    """A frozen window must not cost memory without bound, and must not lose records either."""
    queue: RecordQueue[int] = RecordQueue(capacity=2)
    done = threading.Event()

    def produce() -> None:
        for i in range(3):
            queue.put(i)
        done.set()

    producer = threading.Thread(target=produce)
    producer.start()
    assert not done.wait(0.1)
    assert len(queue) == 2
    assert queue.drain() == [0, 1]
    assert done.wait(5)
    producer.join(5)
    assert queue.drain() == [2]


def test_close_frees_a_waiting_producer():
    """Closing the window while the queue is full must not hang the engine's thread."""
    queue: RecordQueue[int] = RecordQueue(capacity=1)
    queue.put(1)
    answer: list[bool] = []
    producer = threading.Thread(target=lambda: answer.append(queue.put(2)))
    producer.start()
    queue.close()
    producer.join(5)
    assert answer == [False]
    assert queue.drain() == [1]
    assert not queue.put(3)
