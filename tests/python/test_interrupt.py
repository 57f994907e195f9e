"""Ctrl-C stops long operations within a second, wherever they spend their time, and what comes after works."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import pyburn
from pyburn.nn import functional as F

PATIENCE = 1.0  # seconds from the signal to the exception
F32 = pyburn.float32


def seconds_to_stop(call: Callable[[], Any], after: float = 0.3) -> float:
    """Interrupts call() and returns how long it took to come back."""
    sent = 0.0

    def interrupt() -> None:
        nonlocal sent
        sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    timer = threading.Timer(after, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
            timer.cancel()
        return time.monotonic() - sent
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def chain(length: int) -> None:
    """A backward pass over many small nodes."""
    y = pyburn.ones(2, requires_grad=True)
    for _ in range(length):
        y = y * 1.0
    y.sum().backward()


# Each would run for many seconds: through short chunks, one long line, serial loops, or thousands of calls.
LONG: dict[str, Callable[[], Any]] = {
    "sum of a stretched tensor": lambda: pyburn.ones(1, 1).expand(2**31, 2**20).sum(),
    "max": lambda: pyburn.max(pyburn.ones(1, 1).expand(2**31, 2**20)),
    "variance along an axis": lambda: pyburn.ones(1, 1, 1).expand(4, 2**40, 3).var(1),
    "norm": lambda: pyburn.norm(pyburn.ones(1, 1).expand(2**31, 2**20)),
    "matrix product": lambda: pyburn.ones(9000, 9000) @ pyburn.ones(9000, 9000),
    "product of integers": lambda: pyburn.ones(3000, 3000, dtype=pyburn.int64) @ pyburn.ones(3000, 3000, dtype=pyburn.int64),
    "eigh": lambda: pyburn.linalg.eigh(pyburn.ones(3000, 3000) + pyburn.eye(3000)),
    "svd": lambda: pyburn.linalg.svd(pyburn.rand(2000, 2000)),
    "cholesky": lambda: pyburn.linalg.cholesky(pyburn.eye(6000)),
    "solve": lambda: pyburn.linalg.solve(pyburn.eye(5000), pyburn.ones(5000, 5000)),
    "topk of one line": lambda: pyburn.topk(pyburn.rand(2**26), 2**25),
    "unique": lambda: pyburn.unique(pyburn.rand(2**26)),
    "logcumsumexp": lambda: pyburn.logcumsumexp(pyburn.ones(2**27), 0),
    "long kernel": lambda: F.conv1d(pyburn.ones(1, 1, 2**22), pyburn.ones(1, 1, 2**14)),
    "lstm of a long sequence": lambda: pyburn.nn.LSTM(64, 64)(pyburn.ones(2**18, 1, 64)),
    "ctc": lambda: F.ctc_loss(
        pyburn.zeros(30000, 1, 9), pyburn.ones(1, 9000, dtype=pyburn.int64), pyburn.tensor([30000]), pyburn.tensor([9000])
    ),
    "polynomial": lambda: pyburn.special.hermite_polynomial_h(pyburn.rand(2**22), pyburn.full((1,), 10**5)),
    "many views": lambda: pyburn.split(pyburn.ones(2**24), 1),
    "tape": lambda: chain(10**6),
}


@pytest.mark.parametrize("name", LONG)
def test_an_operation_stops(name: str) -> None:
    assert seconds_to_stop(LONG[name]) < PATIENCE
    assert (pyburn.ones(3) + 1).tolist() == [2, 2, 2]


def test_the_queue_of_fusion_stops_and_tells_later_readers() -> None:
    with pyburn.device("fusion(cpu)"):
        x = pyburn.rand(1200, 1200) * 2 + 1
        y = pyburn.linalg.svd(x).S.sum()  # is queued: it takes long when it is read
        z = y + 1
        assert seconds_to_stop(y.item) < PATIENCE
        with pytest.raises(RuntimeError, match="interrupted"):
            z.item()
        assert x.sum().item() > 0
        assert (pyburn.ones(3) + 1).tolist() == [2, 2, 2]


def test_the_exception_is_the_handler_s_own() -> None:
    """A time limit by a signal: what the handler raises comes out of the operation."""

    class TooLate(Exception):
        pass

    def handler(*_: Any) -> None:
        raise TooLate("0.2 s are over")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TooLate, match="over"):
            pyburn.linalg.svd(pyburn.rand(1500, 1500))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_results_of_long_kernels_are_the_same_off_the_main_thread() -> None:
    """Off the main thread nothing polls for signals; sizes above the limit use another thread all the same."""
    a = pyburn.arange(2**23).flip(0) % 1001
    values: list[Any] = []
    thread = threading.Thread(target=lambda: values.append(pyburn.unique(a)))
    thread.start()
    thread.join()
    assert values[0].tolist() == pyburn.unique(a).tolist() == list(range(1001))


def test_an_error_of_a_long_kernel_reaches_the_caller() -> None:
    x = pyburn.zeros(3000, 3000)
    with pytest.raises(pyburn.ArgumentError, match=r"\[_?linalg_solve\]|singular"):
        pyburn.linalg.solve(x, x)


def test_a_forked_child_runs_long_kernels() -> None:
    program = """
        import os, pyburn
        x = pyburn.arange(2**23) % 7
        assert len(pyburn.unique(x)) == 7
        child = os.fork()
        if child == 0:
            os._exit(0 if len(pyburn.unique(x)) == 7 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)


def test_an_interrupted_operation_leaves_no_memory_behind() -> None:
    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt):
            timer = threading.Timer(0.1, _thread.interrupt_main)
            timer.start()
            pyburn.linalg.eigh(pyburn.eye(1500) + 1)

    def in_use_at_rest() -> int:
        """The work that was left behind stops soon; until then it holds its buffers."""
        readings = []
        for _ in range(20):
            readings.append(pyburn.device("cpu").memory()["in_use"])
            time.sleep(0.05)
        return min(readings)

    interrupted()
    before = in_use_at_rest()
    for _ in range(3):
        interrupted()
    assert in_use_at_rest() <= before
