"""Downloads with checksums and resume; a file gets its final name only when complete."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._progress import Progress, bar_text, duration

_BLOCK = 1 << 16
_ALGORITHMS = ("sha256", "md5", "git")
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO)


class DownloadError(OSError):
    """Raised when a file cannot be downloaded because of the network, the server or a wrong checksum."""


def cache_folder() -> Path:
    """Returns the download folder: the environment variable PYBURN_CACHE, else the user's cache folder."""
    chosen = os.environ.get("PYBURN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "pyburn" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pyburn"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pyburn"


def checksum_of(path: str | os.PathLike[str], algorithm: str) -> str:
    """Returns the checksum of a file as hex digits.

    Args:
        path: The file.
        algorithm: "sha256", "md5", or "git" for the git blob hash.

    Raises:
        ValueError: The algorithm is unknown.
    """
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"[download] a checksum is one of {', '.join(_ALGORITHMS)}: got {algorithm!r}")
    if algorithm == "git":
        digest = hashlib.sha1(b"blob %d\0" % os.path.getsize(path), usedforsecurity=False)
    else:
        digest = hashlib.new(algorithm, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def verify(path: str | os.PathLike[str], checksum: str) -> bool:
    """Returns whether a file has a checksum, given as "sha256:...", "md5:..." or "git:..."."""
    algorithm, _, wanted = checksum.partition(":")
    return checksum_of(path, algorithm) == wanted.lower()


def download(
    url: str | Sequence[str],
    path: str | os.PathLike[str],
    checksum: str | None = None,
    *,
    retries: int = 3,
    timeout: float = 30.0,
    pause: float = 1.0,
    progress: bool = True,
) -> Path:
    """Downloads a file, unless it is already there with the right checksum.

    Args:
        url: The URL, or several that are tried in order.
        path: The target file.
        checksum: "sha256:...", "md5:..." or "git:..."; a file with another checksum is not kept.
        retries: The number of retries per URL. Partial downloads are resumed if the server supports it.
        timeout: The number of seconds without data after which a try fails.
        pause: The number of seconds before the first retry; doubled for each further one.
        progress: Whether to draw a progress bar if stderr is a terminal.

    Returns:
        The path of the file.

    Raises:
        ValueError: A URL is not http or https, or the checksum has no known prefix.
        DownloadError: No URL worked.

    >>> download("https://example.org/data.zip", "data/data.zip")  # doctest: +SKIP
    """
    target = Path(path)
    addresses = [url] if isinstance(url, str) else list(url)
    for address in addresses:
        if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
            raise ValueError(f"[download] expected an address with http or https: got {address!r}")
    if checksum is not None and checksum.partition(":")[0] not in _ALGORITHMS:
        raise ValueError(f"[download] a checksum begins with sha256:, md5: or git:, got {checksum[:20]!r}")
    if target.exists() and (checksum is None or verify(target, checksum)):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    with _only_one(target) as part:
        if target.exists() and (checksum is None or verify(target, checksum)):
            return target  # another process downloaded it meanwhile
        for address in addresses:
            try:
                _Transfer(address, part, checksum, timeout, progress).run(retries, pause)
            except DownloadError as error:
                failures.append(f"{address}: {error}")
                continue
            os.replace(part, target)
            return target
    raise DownloadError(
        f"[download] {target.name} could not be downloaded.\n  "
        + "\n  ".join(failures)
        + f"\nTo continue without the network, put the file at {target}"
        + (f" (its checksum is {checksum})" if checksum else "")
    )


@contextlib.contextmanager
def _only_one(target: Path) -> Iterator[Path]:
    """Yields the partial file, locked so that other processes that download the same file wait, where the system supports it."""
    part = target.with_name(target.name + ".part")
    with open(part, "ab") as held:
        try:
            import fcntl
        except ImportError:
            held.close()
        else:
            fcntl.flock(held, fcntl.LOCK_EX)
        try:
            yield part
        finally:
            if part.exists() and part.stat().st_size == 0:
                part.unlink()


class _Final(DownloadError):
    """A failure for which a retry is useless."""


class _Transfer:
    """Downloads one file from one URL, with retries."""

    def __init__(self, url: str, part: Path, checksum: str | None, timeout: float, progress: bool) -> None:
        self.url, self.part, self.checksum, self.timeout = url, part, checksum, timeout
        self.bar = TransferProgress(part.name.removesuffix(".part")) if progress else None

    def run(self, retries: int, pause: float) -> None:
        for attempt in range(retries + 1):
            resumed = self.part.exists() and self.part.stat().st_size > 0
            try:
                self.fetch()
                self.check(resumed)
                return
            except _Final:
                raise
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, OSError) and error.errno in _DISK_ERRORS:  # no retry and no other server would help
                    with contextlib.suppress(OSError):
                        os.truncate(self.part, 0)  # frees the disk; an empty partial file is removed
                    raise
                offline = isinstance(getattr(error, "reason", error), socket.gaierror)  # name resolution failed: no retry
                if attempt == retries or offline:
                    raise DownloadError(_reason(error)) from None
                time.sleep(pause * 2**attempt)
            finally:
                if self.bar:
                    self.bar.close()

    def check(self, resumed: bool) -> None:
        if self.checksum is None or verify(self.part, self.checksum):
            return
        algorithm = self.checksum.partition(":")[0]
        got = checksum_of(self.part, algorithm)
        os.truncate(self.part, 0)
        if resumed:  # the file may have changed on the server: start over
            raise DownloadError("the parts do not belong together")
        raise _Final(f"the checksum is {algorithm}:{got}, expected {self.checksum}: the file at this address is another one, or damaged")

    def fetch(self) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"User-Agent": "pyburn", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        try:
            response = urllib.request.urlopen(urllib.request.Request(self.url, headers=headers), timeout=self.timeout)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and have:  # already complete, or the file became shorter
                if self.checksum is not None and verify(self.part, self.checksum):
                    return
                os.truncate(self.part, 0)
                raise DownloadError("the server has less than was received before") from None
            kind = DownloadError if error.code in (408, 425, 429) or error.code >= 500 else _Final
            raise kind(f"the server answers {error.code} {error.reason}") from None
        with response:
            have, total = _extent(response, have)
            self.receive(response, have, total)

    def receive(self, response: Any, have: int, total: int | None) -> None:
        with open(self.part, "r+b" if have else "wb") as out:
            out.seek(have)
            out.truncate()
            while block := response.read(_BLOCK):
                out.write(block)
                have += len(block)
                if total is not None and have > total:
                    raise DownloadError(f"the server sends more than the {total} bytes it announced")
                if self.bar:
                    self.bar.arrived(have, total)
        if total is not None and have < total:
            raise DownloadError(f"the connection ended after {have} of {total} bytes")


def _extent(response: Any, have: int) -> tuple[int, int | None]:
    """Returns the start offset of the response and the total size of the file, if known."""
    length = response.headers.get("Content-Length")
    if response.status == 206:
        text = response.headers.get("Content-Range", "")
        first, _, whole = text.removeprefix("bytes ").partition("/")
        start = first.partition("-")[0]
        if not start.isdigit() or int(start) != have:
            raise DownloadError(f"the server continues at another place than asked: {text!r}")
        return have, int(whole) if whole.isdigit() else None
    return 0, int(length) if length and length.isdigit() else None


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", None)
    if isinstance(error, TimeoutError) or isinstance(inner, TimeoutError):
        return "nothing arrived in time"
    if isinstance(error, DownloadError):
        return str(error)
    return f"{inner or error or type(error).__name__}"


class TransferProgress(Progress[bytes]):
    """The progress line of a download, of which `done` bytes have arrived."""

    def __init__(self, name: str) -> None:
        super().__init__((), name)
        self.first, self.total = -1, None

    def arrived(self, have: int, total: int | None) -> None:
        """Shows how many bytes are there; the first call is the start."""
        self.first = have if self.first < 0 else self.first
        self.done, self.total = have, total
        self.show()

    def line(self, seconds: float) -> str:
        rate = (self.done - self.first) / max(seconds, 1e-3)
        if not self.total:
            return f"{self.doing} {self.done / 1e6:.1f} MB  {rate / 1e6:.1f} MB/s"
        left = f"  {duration((self.total - self.done) / rate)} left" if rate else ""
        bar = bar_text(self.done / self.total, 30)
        return f"{self.doing} {bar} {self.done / 1e6:.1f}/{self.total / 1e6:.1f} MB  {rate / 1e6:.1f} MB/s{left}"
