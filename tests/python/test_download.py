"""Downloads against a server on this machine: resuming, checksums, servers that hang, lie or know no ranges."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import socket
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyburn import FormatError
from pyburn.data.download import DownloadError, TransferProgress, cache_folder, checksum_of, download, verify
from pyburn.data.unpack import unpack_members

CONTENT = bytes(range(256)) * 1000
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """A server that misbehaves on demand. `requests` are the ranges it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str | None] = []
        self.failures: list[str] = []  # what goes wrong with the next requests, one after another
        self.content, self.ranges = CONTENT, True
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/file.bin"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.requests.append(wanted)
        failure = self.server.failures.pop(0) if self.server.failures else ""
        if failure.isdigit():
            self.send_error(int(failure))
            return
        content = self.server.content
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        body = content[start:]
        self.send_response(206 if wanted and self.server.ranges else 200)
        if wanted and self.server.ranges:
            shown = start + 1 if failure == "wrong range" else start
            self.send_header("Content-Range", f"bytes {shown}-{len(content) - 1}/{len(content)}")
        if failure != "no length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if failure in ("truncate", "hang"):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            if failure == "hang":
                self.server.released.wait(20)
            self.close_connection = True
            return
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.released.set()
    made.shutdown()
    made.server_close()
    thread.join()


def fetch(server: Server, path: Path, checksum: str | None = SHA256, **options: Any) -> Path:
    return download(server.url, path, checksum, **{"pause": 0.01, "timeout": 5, **options})


def test_a_file_is_downloaded_once(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.bin"
    assert fetch(server, path) == path and path.read_bytes() == CONTENT
    assert fetch(server, path) == path and len(server.requests) == 1
    assert os.listdir(path.parent) == ["file.bin"]
    path.write_bytes(b"something else")
    assert fetch(server, path).read_bytes() == CONTENT and len(server.requests) == 2


def test_an_interrupted_download_is_resumed(server: Server, tmp_path: Path) -> None:
    server.failures = ["truncate", "503", "truncate"]
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert server.requests == [None, f"bytes={half}-", f"bytes={half}-", f"bytes={half + half // 2}-"]


def test_an_earlier_run_is_resumed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.part").write_bytes(CONTENT[:1000])
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT and server.requests == ["bytes=1000-"]
    assert os.listdir(tmp_path) == ["a"]


def test_parts_that_do_not_belong_together_are_fetched_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.part").write_bytes(b"x" * 1000)
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT and server.requests == ["bytes=1000-", None]
    (tmp_path / "b.part").write_bytes(b"x" * (len(CONTENT) + 5))
    assert fetch(server, tmp_path / "b").read_bytes() == CONTENT
    (tmp_path / "c.part").write_bytes(CONTENT)
    server.requests.clear()
    assert fetch(server, tmp_path / "c").read_bytes() == CONTENT and server.requests == [f"bytes={len(CONTENT)}-"]


def test_a_server_without_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.failures = ["truncate"]
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT and len(server.requests) == 2


def test_a_server_that_continues_elsewhere_is_not_believed(server: Server, tmp_path: Path) -> None:
    server.failures = ["truncate", "wrong range"]
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT and len(server.requests) == 3


def test_a_server_that_hangs_is_left_and_asked_again(server: Server, tmp_path: Path) -> None:
    server.failures = ["hang"]
    began = time.monotonic()
    assert fetch(server, tmp_path / "a", timeout=0.3).read_bytes() == CONTENT
    assert time.monotonic() - began < 15 and len(server.requests) == 2
    server.failures = ["hang"] * 2
    server.requests.clear()
    with pytest.raises(DownloadError, match="nothing arrived in time"):
        fetch(server, tmp_path / "b", timeout=0.2, retries=1)
    assert (tmp_path / "b.part").exists() and not (tmp_path / "b").exists()


def test_a_wrong_checksum_is_an_error_and_nothing_is_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=f"the checksum is {SHA256}, expected sha256:00.*another one, or damaged"):
        fetch(server, tmp_path / "a", "sha256:" + "0" * 64)
    assert os.listdir(tmp_path) == [] and len(server.requests) == 1


def test_files_without_a_length_are_checked_by_their_sum(server: Server, tmp_path: Path) -> None:
    server.failures = ["no length"]
    assert fetch(server, tmp_path / "a").read_bytes() == CONTENT


def test_a_missing_file_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    server.failures = ["404"] * 5
    with pytest.raises(DownloadError, match="the server answers 404"):
        fetch(server, tmp_path / "a")
    assert len(server.requests) == 1


def test_the_next_address_is_tried(server: Server, tmp_path: Path) -> None:
    server.failures = ["404"]
    assert download([server.url, server.url], tmp_path / "a", SHA256).read_bytes() == CONTENT


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        download("http://127.0.0.1:9/file.bin", tmp_path / "a.gz", SHA256, retries=1, pause=0.01)
    assert f"put the file at {tmp_path / 'a.gz'} (its checksum is {SHA256})" in str(caught.value)
    assert "http://127.0.0.1:9/file.bin: " in str(caught.value)


def test_a_name_that_is_not_found_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def nothing(host: str, *rest: Any, **more: Any) -> list[Any]:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nothing)
    with pytest.raises(DownloadError, match="Name or service not known"):
        download("http://data.invalid/file.bin", tmp_path / "a", SHA256, pause=60)
    assert asked == ["data.invalid"] and os.listdir(tmp_path) == []


def test_only_the_web_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="with http or https"):
        download("file:///etc/passwd", tmp_path / "a")
    with pytest.raises(ValueError, match="a checksum begins with"):
        download("http://127.0.0.1/", tmp_path / "a", "crc:1")


def test_two_at_once_download_once(server: Server, tmp_path: Path) -> None:
    threads = [threading.Thread(target=fetch, args=(server, tmp_path / "a")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert sys.platform == "win32" or len(server.requests) == 1


def test_checksums(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello\n")
    assert checksum_of(tmp_path / "a", "git") == "ce013625030ba8dba906f756967f9e9ca394464a"  # as `git hash-object` says
    assert verify(tmp_path / "a", "md5:B1946AC92492D2347C6235B4D2611184") and not verify(tmp_path / "a", "md5:00")


def test_the_cache_is_where_one_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYBURN_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("PYBURN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name in ("pyburn", "cache")


def test_the_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    bar = TransferProgress("a.gz")
    bar.arrived(0, 10_000_000)
    bar.arrived(5_000_000, 10_000_000)
    assert bar.line(5.0) == f"a.gz {'█' * 15}{' ' * 15} 5.0/10.0 MB  1.0 MB/s  5s left"
    bar.arrived(5_000_000, None)
    assert bar.line(5.0) == "a.gz 5.0 MB  1.0 MB/s"
    assert stream.getvalue() == ""
    stream.isatty = lambda: True  # type: ignore[method-assign]
    bar = TransferProgress("a")
    bar._started -= 1.0
    bar.arrived(1, 2)
    assert stream.getvalue().startswith("\r\x1b[2Ka ███")
    bar.close()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_members_of_archives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("deep/x.txt", "hello")
        archive.writestr("../evil.txt", "no")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as packed:
        entry = tarfile.TarInfo("deep/x.txt")
        entry.size = 5
        packed.addfile(entry, io.BytesIO(b"hello"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    for name in ("a.zip", "a.tar.gz"):
        unpack_members(tmp_path / name, tmp_path / "out", {"deep/x.txt": f"{name}.txt"})
        assert (tmp_path / "out" / f"{name}.txt").read_text() == "hello"
        with pytest.raises(FormatError, match="does not contain"):
            unpack_members(tmp_path / name, tmp_path / "out", {"nothing": "x"})
        with pytest.raises(FormatError, match="larger than it may be"):
            unpack_members(tmp_path / name, tmp_path / "out", {"deep/x.txt": "y"}, largest=3)
    with pytest.raises(FormatError, match="does not contain"):
        unpack_members(tmp_path / "a.tar.gz", tmp_path / "out", {"link": "x"})
    (tmp_path / "b.zip").write_bytes(b"nothing")
    with pytest.raises(FormatError, match="is damaged"):
        unpack_members(tmp_path / "b.zip", tmp_path / "out", {"x": "x"})
    assert not (tmp_path / "evil.txt").exists()
