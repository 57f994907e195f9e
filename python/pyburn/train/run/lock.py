"""Lock on a run folder, so that only one process writes to it; released when the process ends."""

from __future__ import annotations

import errno
import io
import os
import socket
import warnings
from pathlib import Path

from ..._forks import close_in_children
from ..errors import RunInUseError
from .inside import refuse_links

try:
    import fcntl
except ImportError:  # Windows: there is no lock
    fcntl = None  # type: ignore[assignment]

NAME = "run.lock"


class RunLock:
    """An advisory lock (flock) on the file `run.lock`.

    It is released by `release`, with the last reference to it, or when the process ends. Child processes made by fork do not hold it. The
    file remains after release: it names the last holder, and does not imply that there is one.

    Args:
        folder: The run folder, which must exist.
        links: Whether there may be symbolic links in it.

    Raises:
        RunInUseError: Another Run, of this process or another one, holds the lock. The message names the process.
        OSError: There is a symbolic link in the folder. The holder of the lock writes and deletes files there.
    """

    def __init__(self, folder: Path, links: bool = False) -> None:
        self._file: io.FileIO | None = None
        self._path = folder / NAME
        self.acquire()
        try:
            if not links:
                refuse_links(folder)
        except OSError:
            self.release()
            raise

    def acquire(self) -> None:
        """Takes the lock if it is not already held."""
        if fcntl is None or self._file is not None and not self._file.closed:
            return
        file = io.FileIO(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666), "r+")
        close_in_children(file)  # before locking: otherwise a child forked by another thread meanwhile would keep the lock
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = file.read(200).decode("utf-8", "replace").strip()
            file.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise RunInUseError(self._refusal(holder)) from None
            warnings.warn(f"{self._path.parent} cannot be locked ({error}): start no second process on it", RuntimeWarning, stacklevel=4)
            return
        file.truncate(0)
        file.write(f"{os.getpid()} {socket.gethostname()}\n".encode())
        self._file = file

    def _refusal(self, holder: str) -> str:
        pid, _, host = holder.partition(" ")
        if not pid.isdigit():
            who = "another process"
        elif int(pid) == os.getpid() and host == socket.gethostname():
            who = f"this process (pid {pid}) in another Run, which has to be finished or closed first"
        else:
            who = f"the process with pid {pid}" + (f" on {host}" if host != socket.gethostname() else "")
        return f"[Run] {self._path.parent} is being written by {who}: wait for its end, stop it, or choose another folder"

    def release(self) -> None:
        """Releases the lock. Does nothing if it is not held."""
        if self._file is not None:
            self._file.close()  # not LOCK_UN, which in a child process would release the lock of the parent
            self._file = None

    def __del__(self) -> None:
        self.release()
