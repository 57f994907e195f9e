"""How much the tests of faults do: little in `make test`, much in `make faults` (PYBURN_FAULTS=full); and programs to do it to."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FULL = os.environ.get("PYBURN_FAULTS") == "full"
HERE = Path(__file__).parent
QUIET = "-Wignore:This process:DeprecationWarning"  # Python 3.12 and later warn of every fork where there are threads


def effort(quick: int, full: int) -> int:
    """A count of repetitions."""
    return full if FULL else quick


def python(code: str, *, timeout: float = 120, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs code in a Python of its own; with `check` it must end well and say nothing on stderr."""
    command = [sys.executable, QUIET, "-c", "import pyburn\n" + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, **options)
    if check:
        assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stdout[-2000:], done.stderr[-4000:])
    return done


def start(program: str, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """A program of this folder, running."""
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def wait_until(what: Callable[[], bool], process: subprocess.Popen[str] | None = None, seconds: float = 60) -> bool:
    """Whether something becomes true; False if the process ends before."""
    deadline = time.monotonic() + seconds
    while not what():
        if process is not None and process.poll() is not None:
            return False
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.003)
    return True


def in_threads(*works: Callable[[], Any]) -> None:
    """Runs functions side by side and raises the first error of any."""
    errors: list[BaseException] = []
    ready = threading.Barrier(len(works))

    def guarded(work: Callable[[], Any]) -> None:
        try:
            ready.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def ended(child: int, seconds: float = 60) -> int:
    """The exit code of a forked child, which is killed if it hangs."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError(f"a forked child hung for {seconds} seconds")


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "300k", *, read_only: bool = False) -> Iterator[Path]:
    """A disk of its own, where mounting is allowed; skips the test elsewhere."""
    import pytest

    folder.mkdir(parents=True, exist_ok=True)
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs to mount a small disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    """Leaves no room on a disk."""
    path = folder / "fill"
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (4096, 64, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass
    return path
