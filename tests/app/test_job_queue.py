"""What the engine's thread does next: order, cancelling, and which jobs may overtake."""

from __future__ import annotations

import pytest

from app.job_queue import JobQueue
from app.jobs import Calibrate, Count, Generate, Load, Run


@pytest.fixture
def jobs():
    """A turn runs; a load and another turn wait."""
    jobs = JobQueue()
    for job in (Generate(1, "generating"), Load(2, "loading"), Generate(3, "generating")):
        jobs.post(job)
    jobs.take()
    return jobs


def test_jobs_are_taken_in_the_order_they_came(jobs):
    """A reply asked for after a load is the new model's."""
    assert jobs.running.number == 1
    jobs.finish()
    assert jobs.running is None
    assert [jobs.take().number, jobs.take().number] == [2, 3]
    assert jobs.take() is None
    assert jobs.running is None


def test_quick_jobs_are_taken_apart(jobs):
    """Saving and counting must not wait for a load; of the counts only the newest still matters."""
    for job in (Run(4, "saving"), Count(0, "counting", key="old"), Run(5, "saving"), Count(0, "counting", key="new")):
        jobs.post(job)
    assert [jobs.take_run().number, jobs.take_run().number, jobs.take_run()] == [4, 5, None]
    assert jobs.take_count().key == "new"
    assert jobs.take_count() is None
    assert jobs.take().number == 2


@pytest.mark.parametrize(("number", "cancelled"), [(1, [1]), (2, [2]), (None, [1, 2, 3]), (9, [])])
def test_cancel_reaches_running_and_waiting_jobs(jobs, number, cancelled):
    """Stop works before the engine had time to begin, and never hits a write to the store."""
    saving = Run(1, "saving")
    jobs.post(saving)
    everything = [jobs.running]
    jobs.cancel(number)
    while (job := jobs.take()) is not None:
        everything.append(job)
    assert [job.number for job in everything if job.cancel.is_set()] == cancelled
    assert not saving.cancel.is_set()


def test_turns_are_those_that_run_or_wait(jobs):
    """Settings of a reply go to these, and to nothing else."""
    jobs.post(Calibrate(4, "measuring"))
    assert [job.number for job in jobs.turns()] == [1, 3]
    jobs.finish()
    assert [job.number for job in jobs.turns()] == [3]
