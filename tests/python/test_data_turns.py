"""Threads load side by side or take turns, whichever was quicker when it was tried."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

from pyburn.data.turns import Turns


def after_some_batches(seconds_with) -> Turns:
    """Two threads load 12 batches of 4 samples each, which take as long as seconds_with(threads at work) says."""
    turns, at_work, lock = Turns(2), [0], threading.Lock()

    def fetch(task):
        with lock:
            at_work[0] += 1
        time.sleep(0.004)
        seconds = seconds_with(at_work[0])
        time.sleep(max(seconds - 0.004, 0))
        with lock:
            at_work[0] -= 1

    def work() -> None:
        for _ in range(12):
            turns.load(fetch, SimpleNamespace(index=range(400)))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert turns._decided
    return turns


def test_threads_that_do_not_hinder_each_other_stay_side_by_side() -> None:
    assert not after_some_batches(lambda at_work: 0.01)._in_turn


def test_threads_that_hinder_each_other_take_turns() -> None:
    assert after_some_batches(lambda at_work: 0.01 if at_work == 1 else 0.06)._in_turn


def test_large_samples_are_always_loaded_side_by_side() -> None:
    turns = Turns(2)
    for _ in range(3):
        turns.load(lambda task: time.sleep(0.01), SimpleNamespace(index=[1, 2]))
    assert turns._decided
    assert not turns._in_turn


def test_one_worker_needs_no_turns() -> None:
    assert Turns(1)._decided
