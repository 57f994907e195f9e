"""Loaders when something goes wrong: exceptions, Ctrl-C, killed and hanging workers, forks, programs that end early."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import pyburn
from pyburn.data import DataLoader, Dataset, IterableDataset

needs_fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
KINDS = [{"num_workers": 2}, pytest.param({"num_workers": 2, "multiprocessing_context": "fork"}, marks=needs_fork)]


class Picky(Exception):
    """Its constructor does not take a message."""

    def __init__(self, code: int, more: str) -> None:
        super().__init__(code, more)
        self.code = code


class Failing(Dataset):
    def __init__(self, error: Exception, at: int = 2) -> None:
        self.error = error
        self.at = at

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        if index == self.at:
            raise self.error
        return index


class Sleepy(Dataset):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> int:
        time.sleep(self.seconds)
        return index


class Suicidal(Sleepy):
    def __getitem__(self, index: int) -> int:
        if index == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


def loader_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("pyburn-loader")]


def test_exceptions_of_threads_are_the_exceptions_themselves() -> None:
    error = Picky(7, "more")
    loader = iter(DataLoader(Failing(error), num_workers=2))
    assert [int(next(loader)), int(next(loader))] == [0, 1]
    with pytest.raises(Picky) as caught:
        next(loader)
    assert caught.value is error
    assert caught.value.code == 7
    assert any(frame.name == "__getitem__" for frame in caught.traceback)
    if hasattr(error, "__notes__"):
        assert "DataLoader worker thread 0" in error.__notes__[0]
    assert [int(batch) for batch in loader] == [3, 4, 5]  # the others are fine


@needs_fork
def test_exceptions_of_processes_keep_class_and_traceback() -> None:
    options = {"num_workers": 2, "multiprocessing_context": "fork"}
    loader = iter(DataLoader(Failing(ZeroDivisionError("by nothing")), **options))
    next(loader), next(loader)
    with pytest.raises(ZeroDivisionError, match=r"(?s)Caught ZeroDivisionError in DataLoader worker process 0.*__getitem__.*by nothing"):
        next(loader)
    assert [int(batch) for batch in loader] == [3, 4, 5]
    with pytest.raises(KeyError) as caught:
        list(DataLoader(Failing(KeyError("name")), **options))
    assert str(caught.value).count("\n") > 3  # not on one line
    with pytest.raises(RuntimeError, match="Caught Picky"):
        list(DataLoader(Failing(Picky(1, "x")), **options))

    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match="Local"):
        list(DataLoader(Failing(Local()), **options))


def test_exceptions_without_workers_are_plain() -> None:
    with pytest.raises(Picky):
        list(DataLoader(Failing(Picky(1, "x"))))


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_errors_of_batches_and_of_starting(options) -> None:
    def refuse(worker: int) -> None:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        list(DataLoader([1, 2], worker_init_fn=refuse, **options))
    with pytest.raises(TypeError, match="must contain"):
        list(DataLoader([object()] * 2, **options))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stray_stop_iteration_does_not_end_the_epoch(workers: int) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Failing(StopIteration()), num_workers=workers))


@needs_fork
def test_batches_that_cannot_be_sent() -> None:
    with pytest.raises(Exception, match="pickle|local object"):
        list(DataLoader([1, 2], collate_fn=lambda batch: lambda: batch, num_workers=1, multiprocessing_context="fork"))


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_errors_inside_a_stream(options) -> None:
    class Broken(IterableDataset):
        def __iter__(self):
            yield 1
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(DataLoader(Broken(), **options))


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_worker_that_hangs_is_given_up(options) -> None:
    start = time.monotonic()
    loader = iter(DataLoader(Sleepy(1.0), timeout=0.1, **options))
    with pytest.raises(RuntimeError, match="timed out after 0.1 seconds"):
        next(loader)
    with pytest.raises(RuntimeError, match="have ended"):
        next(loader)
    assert time.monotonic() - start < 8


@needs_fork
def test_a_killed_worker_raises_an_error() -> None:
    loader = DataLoader(Suicidal(0), num_workers=2, multiprocessing_context="fork", persistent_workers=True)
    for _ in range(2):  # and the loader can be used again
        with pytest.raises(RuntimeError, match=r"DataLoader worker \d \(pid \d+\) was killed by signal 9 \(SIGKILL\)"):
            list(loader)
    gc.collect()
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_nothing_is_left_behind(options) -> None:
    gc.collect()  # what exceptions of other tests hold
    for _ in DataLoader(Sleepy(0.001), batch_size=4, **options):
        break
    list(DataLoader([1, 2, 3], **options))
    persistent = DataLoader([1, 2, 3], persistent_workers=True, **options)
    list(persistent)
    del persistent
    gc.collect()
    assert not loader_threads()
    assert not multiprocessing.active_children()


@needs_fork
def test_loaders_in_forked_children() -> None:
    loader = DataLoader(list(range(6)), num_workers=2, persistent_workers=True)
    expected = [int(batch) for batch in loader]
    running = iter(loader)
    next(running)
    child = os.fork()
    if not child:
        code = 1
        try:
            try:
                next(running)
            except RuntimeError as error:
                code = 2 if "belongs to the parent" in str(error) else 1
            if code == 2 and [int(batch) for batch in loader] == expected:
                code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert [int(batch) for batch in running] == expected[1:]


PROGRAM = """
import os, signal, sys, time
from pyburn.data import DataLoader, Dataset
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts the tests in the background has it ignored
class Data(Dataset):
    def __len__(self): return 100000
    def __getitem__(self, index):
        time.sleep(0.001)
        return index
def main():
    loader = DataLoader(Data(), batch_size=10, num_workers=2, multiprocessing_context={context!r})
    print("started", flush=True)
    for number, batch in enumerate(loader):
        if number == 3: print("running", flush=True)
        {action}
if __name__ == "__main__":
    main()
"""


def started(context: str | None, action: str = "pass") -> subprocess.Popen[str]:
    program = textwrap.dedent(PROGRAM).format(context=context, action=action)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline().strip() for _ in range(2)] == ["started", "running"], process.communicate()
    return process


def group_is_empty(group: int, seconds: float = 8) -> bool:
    """Whether no process of a group is left, soon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


CONTEXTS = [None, pytest.param("fork", marks=needs_fork)]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("context", CONTEXTS)
def test_ctrl_c_ends_all_at_once_with_one_traceback(context) -> None:
    process = started(context)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode in (-signal.SIGINT, 130, 1)
    assert errors.count("Traceback") == 1, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert group_is_empty(process.pid)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_killed_program_leaves_no_workers(context) -> None:
    process = started(context)
    process.kill()
    process.communicate(timeout=20)
    assert group_is_empty(process.pid)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("action", ["if number == 3: sys.exit(3)", "if number == 3: raise ValueError('stop')"])
def test_programs_that_end_early_end(context, action) -> None:
    process = started(context, action)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == (3 if "exit" in action else 1)
    assert errors.count("Traceback") == ("raise" in action), errors
    assert group_is_empty(process.pid)


def test_many_threads_and_training_at_the_same_time() -> None:
    class Work(Dataset):
        def __len__(self) -> int:
            return 64

        def __getitem__(self, index: int):
            return (pyburn.rand(32, 32) @ pyburn.rand(32, 32)).sum() * 0 + index

    total, w = 0, pyburn.rand(64, 64, requires_grad=True)
    for batch in DataLoader(Work(), batch_size=4, num_workers=6):
        (w @ w).sum().backward()
        total += int(batch.sum())
    assert total == sum(range(64))


def test_workers_of_a_script_from_standard_input_raise_an_error_and_do_not_hang() -> None:
    program = "from pyburn.data import DataLoader\nlist(DataLoader([1, 2, 3], num_workers=2, multiprocessing_context='spawn'))\n"
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "main script, which is no file here" in done.stderr
