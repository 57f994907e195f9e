"""Forks in the middle of other threads' work, all ways of multiprocessing, and workers that are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from typing import Any

import pytest
from tests.faults.effort import effort, ended, python

import pyburn
from pyburn import nn
from pyburn.data import DataLoader, Dataset

METHODS = multiprocessing.get_all_start_methods()
needs_fork = pytest.mark.skipif("fork" not in METHODS, reason="this system cannot fork")
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def child_trains() -> bool:
    """What a child does: operations, a fused chain, random numbers, devices, captures, a training step."""
    with pyburn.device("fusion(cpu)"):
        fused = ((pyburn.ones(50_000) * 2 + 1).sqrt() * 0 + 1).sum().item() == 50_000
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        model(pyburn.randn(256, 64)).square().mean().backward()
        optimizer.step()
    traced = pyburn.ones(3, device="fusion(trace(cpu))") + 1
    session = pyburn.inference.compile(model, pyburn.ones(1, 64))
    big = (pyburn.ones(300, 300) @ pyburn.ones(300, 300)).sum().item()
    return fused and traced.sum().item() == 6 and session.run(pyburn.ones(1, 64)).shape == (1, 1) and big == 27_000_000


def busy(kinds: int = 4) -> tuple[threading.Event, list[threading.Thread]]:
    """Threads that are in the middle of something at any time."""
    stop = threading.Event()

    def fused() -> None:
        with pyburn.device("fusion(cpu)"):
            x = pyburn.ones(40_000)
            while not stop.is_set():
                ((x * 2 + 1).exp() * x).sum().item()

    def random() -> None:
        while not stop.is_set():
            pyburn.randn(70_000)

    def backward() -> None:
        w = pyburn.ones(80, 80, requires_grad=True)
        while not stop.is_set():
            (w @ w).tanh().sum().backward()

    def training() -> None:
        model = nn.Linear(128, 128)
        optimizer = pyburn.optim.SGD(model.parameters(), lr=1e-3)
        while not stop.is_set():
            optimizer.zero_grad()
            model(pyburn.rand(300, 128)).sum().backward()
            optimizer.step()

    threads = [threading.Thread(target=work, daemon=True) for work in (fused, random, backward, training)[:kinds]]
    for thread in threads:
        thread.start()
    return stop, threads


@needs_fork
def test_children_of_a_busy_process_train() -> None:
    stop, threads = busy()
    try:
        for number in range(effort(8, 300)):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    code = 0 if child_trains() else 2
                finally:
                    os._exit(code)
            assert ended(child) == 0, number
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@needs_fork
def test_forks_of_several_threads_at_once() -> None:
    done = python(
        f"""
        import os, sys, threading
        sys.path.insert(0, {os.getcwd()!r})
        from tests.faults.test_fork import busy, child_trains
        from tests.faults.effort import ended
        stop, threads = busy()
        codes = []
        def fork_some():
            for _ in range({effort(3, 40)}):
                child = os.fork()
                if child == 0:
                    os._exit(0 if child_trains() else 1)
                codes.append(ended(child))
        forking = [threading.Thread(target=fork_some) for _ in range(3)]
        for t in forking: t.start()
        for t in forking: t.join()
        stop.set()
        for t in threads: t.join()
        print(set(codes), len(codes))
        """,
        timeout=300,
    )
    assert done.stdout == f"{{0}} {3 * effort(3, 40)}\n"


@needs_fork
def test_a_child_makes_the_first_tensor() -> None:
    """What is set up by the first operation takes locks that the parent has never taken; grandchildren fork again."""
    done = python("""
        import os
        def work(depth):
            if depth and (child := os.fork()):
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            elif depth:
                work(depth - 1)
                os._exit(0)
            assert ((pyburn.ones(3) + 1) @ pyburn.ones(3)).item() == 6
            pyburn.register_op(f"first_{os.getpid()}(Tensor x) -> Tensor", decompose=lambda x: x + 0)
        work(3)
        """)
    assert done.stdout == ""


@needs_fork
def test_a_child_that_ends_as_a_program_does_ends() -> None:
    """With its exit handlers, while threads of the parent wait for Python's lock."""
    done = python(
        f"""
        import os, sys, threading, time
        sys.path.insert(0, {os.getcwd()!r})
        from tests.faults.effort import ended
        sys.setswitchinterval(0.1)
        stop = False
        def work():
            x = pyburn.ones(200_000)
            while not stop: x + 1
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads: t.start()
        time.sleep(0.05)
        codes = []
        for _ in range({effort(2, 60)}):
            end = time.monotonic() + 0.02
            while time.monotonic() < end: pass     # the others finish an operation and ask for the lock
            child = os.fork()
            if child == 0:
                sys.exit(7)
            sys.setswitchinterval(0.005)
            codes.append(ended(child, 20))
            sys.setswitchinterval(0.1)
        stop = True
        print(set(codes))
        """,
        timeout=300,
    )
    assert done.stdout == "{7}\n"


@pytest.mark.parametrize("method", METHODS)
def test_multiprocessing(method: str) -> None:
    context = multiprocessing.get_context(method)
    stop, threads = busy(2)
    try:
        with context.Pool(2) as pool:
            assert pool.starmap_async(child_trains, [()] * effort(2, 30)).get(timeout=120) == [True] * effort(2, 30)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


class Slow(Dataset[Any]):
    def __init__(self, seconds: float = 0.002) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.seconds)
        return pyburn.full((20_000,), float(index)), os.getpid()


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_is_killed_is_told_within_seconds(method: str) -> None:
    for number in range(effort(1, 6)):
        loader = iter(DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context=method))
        victims = {int(pid) for _ in range(2 + number) for pid in next(loader)[1]}
        os.kill(victims.pop(), signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(RuntimeError, match=r"DataLoader worker \d \(pid \d+\) was killed by signal 9 \(SIGKILL\)"):
            for _ in loader:
                pass
        assert time.monotonic() - start < 20
    assert not multiprocessing.active_children()


@needs_fork
def test_sigterm_for_the_whole_group_leaves_the_workers_to_the_trainer() -> None:
    """As schedulers send it: the loader goes on, so that the step can be finished; who ends the loader ends the workers at once."""
    loader = iter(DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context="fork"))
    workers = {int(pid) for _ in range(3) for pid in next(loader)[1]}
    for worker in workers:
        os.kill(worker, signal.SIGTERM)
    time.sleep(0.2)
    for _ in range(10):
        assert {int(pid) for pid in next(loader)[1]} <= workers
    del loader
    start = time.monotonic()
    while multiprocessing.active_children():
        assert time.monotonic() - start < 10
        time.sleep(0.01)
