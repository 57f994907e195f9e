"""The server that everything stands on: raw bytes from hostile clients, over real sockets of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyburn.dashboard import Dashboard
from pyburn.server import Limits, start_server
from pyburn.train import Run

SECONDS = 10.0


class Recorder:
    """An application that notes the requests that reach it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"] if scope["method"] == "POST" else b""
        self.seen.append((scope["method"], scope["path"], body))
        if scope["path"] == "/stream":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(500):
                await send({"type": "http.response.body", "body": b"y" * 100_000, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return
        if scope["path"] == "/large":
            text = b"x" * (8 << 20)
        elif scope["path"] == "/slow":
            await asyncio.sleep(0.3)
            text = b"slow"
        else:
            text = b"hello"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
        await send({"type": "http.response.body", "body": text})


LIMITS = Limits(head_seconds=0.6, body_seconds=0.6, idle_seconds=5, read_seconds=0.6, read_rate=1 << 30, body_bytes=1000, connections=64)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Recorder, int]]:
    app = Recorder()
    with start_server(app, limits=LIMITS) as server:
        yield app, server.port


@pytest.fixture
def served(shared: tuple[Recorder, int]) -> tuple[Recorder, int]:
    shared[0].seen.clear()
    return shared


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


def everything(client: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    found, end = b"", time.monotonic() + SECONDS
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while part := client.recv(1 << 16):
            found += part
            assert time.monotonic() < end, "the server goes on sending"
    return found


def talk(port: int, *parts: bytes) -> bytes:
    """Sends bytes, with pauses, and gives all answers until the server closes the connection."""
    with connect(port) as client:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            for index, part in enumerate(parts):
                time.sleep(0.05 if index else 0)
                client.sendall(part)
        return everything(client)


def statuses(answers: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3})", answers)]


def head(method: str = "GET", path: str = "/", *lines: str, host: str = "127.0.0.1") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode("latin-1")


def last(method: str = "GET", path: str = "/", *lines: str, host: str = "127.0.0.1") -> bytes:
    """A request after which the server closes the connection, whatever the answer is."""
    return head(method, path, *lines, "Connection: close", host=host)


HIDDEN = head("POST", "/hidden", "Content-Length: 0")  # a request inside the body of another one


# Each of these holds HIDDEN where one parser sees a body and another one a request. It must never be answered.
SMUGGLED = {
    "a refused POST": head("POST", "/", f"Content-Length: {len(HIDDEN)}", host="evil.example") + HIDDEN,
    "a refused origin": head("POST", "/", "Origin: http://evil.example", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a GET with a body": head("GET", "/", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "an unknown method": head("PUT", "/", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a body that is too large": head("POST", "/", "Content-Length: 5000") + HIDDEN,
    "both lengths, length first": head("POST", "/", "Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n" + HIDDEN,
    "both lengths, coding first": head("POST", "/", "Transfer-Encoding: chunked", f"Content-Length: {5 + len(HIDDEN)}")
    + b"0\r\n\r\n"
    + HIDDEN,
    "two lengths": head("POST", "/", "Content-Length: 0", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a list of lengths": head("POST", "/", f"Content-Length: 0, {len(HIDDEN)}") + HIDDEN,
    "a length with a sign": head("POST", "/", f"Content-Length: +{len(HIDDEN)}") + HIDDEN,
    "a hexadecimal length": head("POST", "/", f"Content-Length: 0x{len(HIDDEN):x}") + HIDDEN,
    "a length with an underscore": head("POST", "/", "Content-Length: 1_0") + HIDDEN,
    "a negative length": head("POST", "/", "Content-Length: -1") + HIDDEN,
    "a space before the colon": head("POST", "/", f"Content-Length : {len(HIDDEN)}") + HIDDEN,
    "another coding": head("POST", "/", "Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n" + HIDDEN,
    "a coding in disguise": head("POST", "/", "Transfer-Encoding: xchunked") + b"0\r\n\r\n" + HIDDEN,
    "two codings": head("POST", "/", "Transfer-Encoding: chunked", "Transfer-Encoding: identity") + b"0\r\n\r\n" + HIDDEN,
    "a coding with a vertical tab": head("POST", "/", "Transfer-Encoding:\x0bchunked") + b"0\r\n\r\n" + HIDDEN,
    "a coding in HTTP/1.0": head("POST", "/", "Transfer-Encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n" + HIDDEN,
    "a chunk size that is no number": head("POST", "/", "Transfer-Encoding: chunked") + b"zz\r\nabc\r\n0\r\n\r\n" + HIDDEN,
    "a chunk size with a prefix": head("POST", "/", "Transfer-Encoding: chunked") + b"0x3\r\nabc\r\n0\r\n\r\n" + HIDDEN,
    "a negative chunk size": head("POST", "/", "Transfer-Encoding: chunked") + b"-1\r\nabc\r\n0\r\n\r\n" + HIDDEN,
    "a huge chunk size": head("POST", "/", "Transfer-Encoding: chunked") + b"ffffffffffffffffffffff\r\nabc\r\n0\r\n\r\n" + HIDDEN,
    "a chunk without its end": head("POST", "/", "Transfer-Encoding: chunked") + b"3\r\nabcXX0\r\n\r\n" + HIDDEN,
    "a folded header": head("POST", "/", f"X-A: b\r\n Content-Length: {len(HIDDEN)}", "Transfer-Encoding: identity") + HIDDEN,
    "an upgrade": head("POST", "/", "Connection: Upgrade", "Upgrade: h2c", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a null in a header": head("POST", "/", "X-A: \x00", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a bare carriage return": head("POST", "/", f"X-A: b\rContent-Length: {len(HIDDEN)}", "Transfer-Encoding: identity") + HIDDEN,
    "two hosts": head("POST", "/", "Host: evil.example", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a whole address": head("POST", "http://127.0.0.1/", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00" + HIDDEN,
}


@pytest.mark.parametrize("name", SMUGGLED)
@pytest.mark.parametrize("split", [False, True], ids=["at once", "in pieces"])
def test_no_body_is_taken_for_a_request(served: tuple[Recorder, int], name: str, split: bool) -> None:
    app, port = served
    data = SMUGGLED[name]
    at = data.index(HIDDEN[:20])
    answers = talk(port, *([data[:at], data[at:]] if split else [data]))
    assert app.seen == [], name
    found = statuses(answers)
    assert len(found) <= 1 and all(400 <= status < 600 for status in found), (name, answers)  # one refusal, and the end of the connection
    assert found or name in ("a body that is too large",), (name, answers)


def test_folded_headers_do_not_hide_a_length(served: tuple[Recorder, int]) -> None:
    app, port = served
    body = b"a" * len(HIDDEN)
    folded = head("POST", "/", f"Content-Length:\r\n {len(body)}")
    assert statuses(talk(port, folded + body + last("GET", "/next"))) == [200, 200]
    assert all(path != "/hidden" for _, path, _ in app.seen)


def test_requests_in_one_packet_are_answered_in_turn(served: tuple[Recorder, int]) -> None:
    """Pipelining, which is not smuggling: whole requests, each with its own checks."""
    app, port = served
    chunked = head("POST", "/2", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    data = head("GET", "/slow") + head("POST", "/1", "Content-Length: 3") + b"xyz" + chunked + head("GET", "/3")
    refused = head("GET", "/4", host="evil.example")
    assert statuses(talk(port, data + refused + head("GET", "/5"))) == [200, 200, 200, 200, 403]
    assert app.seen == [("GET", "/slow", b""), ("POST", "/1", b"xyz"), ("POST", "/2", b"abcde"), ("GET", "/3", b"")]


def test_a_refused_request_is_answered_whole(served: tuple[Recorder, int]) -> None:
    """The body is taken in before the connection ends: a reset would throw the answer away."""
    _, port = served
    for _ in range(20):
        body = b"b" * 900
        answers = talk(port, head("POST", "/", f"Content-Length: {len(body)}", host="evil.example"), body)
        assert statuses(answers) == [403] and b"connection: close" in answers.lower()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200), ("localhost", 200), ("LOCALHOST:80", 200), ("[::1]:99", 200), ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:80", 403), ("127.0.0.1@evil.example", 400), ("evil.example#127.0.0.1", 400), ("localhost:", 400),
        ("localhost:80:80", 400), ("", 400), ("127.0.0.1 ", 200), ("0.0.0.0", 403), ("2130706433", 403), ("localhost/", 400), ("[::1", 400),
    ],
)  # fmt: skip
def test_names_of_the_host(served: tuple[Recorder, int], host: str, status: int) -> None:
    """DNS rebinding: a page of another site points its own name at this machine."""
    _, port = served
    assert statuses(talk(port, last(host=host))) == [status]


def test_a_request_without_a_host(served: tuple[Recorder, int]) -> None:
    _, port = served
    assert statuses(talk(port, b"GET / HTTP/1.0\r\n\r\n")) == [400]
    assert statuses(talk(port, b"GET / HTTP/1.1\r\n\r\n")) == [400]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Origin: http://127.0.0.1"], 200),
        (["Origin: http://127.0.0.1:9"], 403),
        (["Origin: http://localhost"], 403),
        (["Origin: http://evil.example"], 403),
        (["Origin: null"], 403),
        (["Origin: "], 403),
        (["Origin: http://127.0.0.1", "Origin: http://evil.example"], 403),
        (["Sec-Fetch-Site: same-origin"], 200),
        (["Sec-Fetch-Site: none"], 200),
        (["Sec-Fetch-Site: same-site"], 403),  # another port of this machine
        (["Sec-Fetch-Site: cross-site"], 403),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_of_other_origins(served: tuple[Recorder, int], method: str, lines: list[str], status: int) -> None:
    _, port = served
    assert statuses(talk(port, last(method, "/", *lines, *(["Content-Length: 0"] if method == "POST" else [])))) == [status]


def test_a_link_of_another_site_is_followed(served: tuple[Recorder, int]) -> None:
    _, port = served
    link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]
    assert statuses(talk(port, last("GET", "/", *link, "Sec-Fetch-Dest: document"))) == [200]
    assert statuses(talk(port, last("GET", "/", *link, "Sec-Fetch-Dest: iframe"))) == [403]
    assert statuses(talk(port, last("POST", "/", *link, "Sec-Fetch-Dest: document", "Content-Length: 0"))) == [403]  # a form


def test_bodies_are_bounded(served: tuple[Recorder, int]) -> None:
    app, port = served
    assert statuses(talk(port, last("POST", "/", "Content-Length: 1000") + b"x" * 1000)) == [200]
    assert statuses(talk(port, last("POST", "/", "Content-Length: 1001", "Expect: 100-continue"))) == [413]
    chunks = b"".join(b"64\r\n" + b"y" * 100 + b"\r\n" for _ in range(11)) + b"0\r\n\r\n"
    assert statuses(talk(port, last("POST", "/", "Transfer-Encoding: chunked") + chunks)) == [413]
    assert statuses(talk(port, last("POST", "/", "Content-Length: " + "9" * 30))) == [400]
    assert [len(body) for _, _, body in app.seen] == [1000]
    assert statuses(talk(port, last("GET", "/" + "a" * 40_000))) == [431]
    assert statuses(talk(port, last("GET", "/", *(f"X-{i}: {'v' * 100}" for i in range(500))))) == [431]
    assert statuses(talk(port, *[last("GET", "/" + "a" * 70_000)[at : at + 30_000] for at in (0, 30_000, 60_000)])) == [400]  # by h11


def test_every_answer_has_the_headers(served: tuple[Recorder, int]) -> None:
    _, port = served
    for request in (last(), last(host="evil.example"), last("PUT")):
        answer = talk(port, request).lower()
        for line in (b"content-security-policy: default-src 'none'", b"x-content-type-options: nosniff", b"referrer-policy: no-referrer",
                     b"cross-origin-resource-policy: same-origin", b"cache-control: no-store"):  # fmt: skip
            assert line in answer, (request, line)
        assert b"server:" not in answer


def test_tokens() -> None:
    app = Recorder()
    with start_server(app, token="s3cret/+=") as server:
        port = server.port
        cookie = f"pyburn_token_{port}"
        shown = [
            ("/", []), ("/?token=", []), ("/?token=s3cret", []), ("/", ["Authorization: Bearer s3cret"]),
            ("/", ["Authorization: s3cret/+="]),
            ("/", [f"Cookie: {cookie}=x"]), ("/", [f"Cookie: {cookie}"]), ("/", ["Cookie: =;=;;\x80"]), ("/?token=\x80", []),
        ]  # fmt: skip
        for path, lines in shown:
            assert statuses(talk(port, last("GET", path, *lines))) in ([401], [400]), (path, lines)
        assert statuses(talk(port, last("POST", "/", f"Content-Length: {len(HIDDEN)}") + HIDDEN)) == [401]
        assert app.seen == []
        answer = talk(port, last("GET", "/?token=s3cret/%2B%3D"))
        assert statuses(answer) == [200]
        match = re.search(rb"set-cookie: ([^;\r]+); HttpOnly; SameSite=Strict; Path=/\r\n", answer)
        assert match is not None
        assert statuses(talk(port, last("POST", "/", f"Cookie: {match[1].decode()}", "Content-Length: 0"))) == [200]
        assert statuses(talk(port, last("GET", "/", "Authorization: bearer s3cret/+="))) == [200]


def test_only_loopback_needs_no_token() -> None:
    for host in ("127.0.0.1", "localhost"):
        with start_server(Recorder(), host=host) as server:
            assert server.token is None
    with start_server(Recorder(), host="0.0.0.0") as one, start_server(Recorder(), host="0.0.0.0") as other:
        assert one.token and other.token and one.token != other.token and len(one.token) >= 20
        assert statuses(talk(one.port, last())) == [401]


# --- slow and many clients ---------------------------------------------------------------------------------------------------


def answered_within(port: int, seconds: float) -> None:
    start = time.monotonic()
    assert statuses(talk(port, last())) == [200]
    assert time.monotonic() - start < seconds


SLOW = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half a head": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ",
    "half a body": head("POST", "/", "Content-Length: 100") + b"x",
    "half a chunk": head("POST", "/", "Transfer-Encoding: chunked") + b"50\r\nabc",
    "no reading": head("GET", "/large"),
    "no reading of a stream": head("GET", "/stream"),
}


@pytest.mark.parametrize("name", SLOW)
def test_slow_clients_are_cut_off(served: tuple[Recorder, int], name: str) -> None:
    _, port = served
    with connect(port) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(SLOW[name])
        answered_within(port, 1)
        time.sleep(2.5 if "body" in name or "chunk" in name else 1.2)  # the rest of a refused body is waited for
        if "no reading" in name:
            assert len(everything(client)) < 8 << 20
        else:
            assert statuses(everything(client)) in ([], [408])


def test_a_client_that_sends_a_byte_now_and_then_is_cut_off(served: tuple[Recorder, int]) -> None:
    """Slowloris: progress does not move the deadline."""
    _, port = served
    start = time.monotonic()
    with connect(port) as client, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        client.settimeout(0.1)
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        while time.monotonic() - start < SECONDS:
            client.sendall(b"X-A: b\r\n")
            with contextlib.suppress(TimeoutError):
                if client.recv(100) == b"":
                    break
    assert time.monotonic() - start < 3


def test_connections_are_kept_for_more_requests(served: tuple[Recorder, int]) -> None:
    _, port = served
    with connect(port) as client:
        for _ in range(4):  # together longer than a head may take
            client.sendall(head())
            while not (part := client.recv(4096)).endswith(b"hello"):
                assert part
            time.sleep(0.3)


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            pytest.skip(f"the process may open {hard} files only")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("soft", [256, 4096])
@pytest.mark.parametrize("name", [name for name in SLOW if "stream" not in name])
def test_1500_connections_do_not_block_others(tmp_path: Path, many_files: None, name: str, soft: int) -> None:
    """The real program, with few descriptors and with many, while 1,500 clients keep it waiting."""
    with Run(tmp_path / "runs" / "a") as run:
        run.log({"loss": 1.0}, step=1)
    start = (
        f"import resource, sys; from pyburn.cli import main; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {soft})); sys.exit(main())"
    )
    command = [sys.executable, "-c", start, "dashboard", os.fspath(tmp_path / "runs"), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    clients: list[socket.socket] = []
    try:
        assert process.stdout is not None
        match = re.search(r"http://127.0.0.1:(\d+)/", process.stdout.readline())
        assert match is not None
        port = int(match[1])
        for index in range(1500):
            client = connect(port)
            clients.append(client)
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                client.sendall(re.sub(rb"/large|/stream", b"/app.js", SLOW[name]))
            if index % 300 == 299:
                answered_within(port, 1)
        for _ in range(3):
            answered_within(port, 1)
    finally:
        for client in clients:
            client.close()
        process.terminate()
        _, errors = process.communicate(timeout=20)
    assert "Too many open files" not in errors


def test_busy_connections_are_not_closed_for_new_ones() -> None:
    app = Recorder()
    with start_server(app, limits=Limits(connections=8)) as server, contextlib.ExitStack() as stack:
        busy = stack.enter_context(connect(server.port))
        busy.sendall(head("GET", "/slow"))
        time.sleep(0.1)
        for _ in range(20):
            stack.enter_context(connect(server.port))
        answer = b""
        while b"slow" not in answer:
            part = busy.recv(4096)
            assert part, answer
            answer += part


def test_closing_does_not_wait_for_clients() -> None:
    server = start_server(Recorder(), name="closed at once")
    with connect(server.port) as idle, connect(server.port) as half:
        half.sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(0.1)
        start = time.monotonic()
        server.close()
        assert time.monotonic() - start < 2
        assert everything(idle) == everything(half) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(server.port)
    assert not [thread for thread in threading.enumerate() if thread.name == "closed at once"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_the_port() -> None:
    server = start_server(Recorder())
    port, client = server.port, connect(server.port)
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        server.close()
        assert everything(client) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(port)
        start_server(Recorder(), port=port).close()
    finally:
        client.close()
        os.kill(child, 9)
        os.waitpid(child, 0)


# --- starting ---------------------------------------------------------------------------------------------------------------


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def test_the_http_stack_is_loaded_when_a_server_starts() -> None:
    program = "import pyburn.dashboard, pyburn.server, pyburn.train, sys; print({'starlette', 'uvicorn', 'h11'} & set(sys.modules))"
    found = python(program)
    assert found.stdout == "set()\n", found.stderr


@pytest.mark.parametrize("missing", ["starlette", "uvicorn", "h11"])
def test_an_error_names_the_packages(missing: str, tmp_path: Path) -> None:
    hidden, folder = f"import sys; sys.modules[{missing!r}] = None", os.fspath(tmp_path)
    found = python(f"{hidden}; from pyburn.dashboard import Dashboard; Dashboard({folder!r}, port=0)")
    assert "pip install starlette uvicorn h11" in found.stderr.splitlines()[-1]
    found = python(f"{hidden}; from pyburn.cli import main; sys.exit(main(['dashboard', {folder!r}]))")
    assert found.returncode == 1
    assert "pip install starlette uvicorn h11" in found.stderr and "report.html" in found.stderr and "Traceback" not in found.stderr


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    import signal

    (tmp_path / "runs").mkdir()
    command = [sys.executable, "-m", "pyburn", "dashboard", os.fspath(tmp_path / "runs"), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert "Ctrl-C ends it" in line
    assert (process.returncode, errors) == (0, "")


def test_errors_of_the_application_are_logged_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("secret details")

    with start_server(broken) as server:
        answer = talk(server.port, last())
    assert statuses(answer) == [500] and b"secret" not in answer
    assert "secret details" in caplog.text


def test_the_dashboard_uses_this_server(tmp_path: Path) -> None:
    """The attack of the first wave: a refused POST whose body stops a run."""
    run = Run(tmp_path / "live")
    body = json.dumps({"id": "live"}).encode()
    stop = last("POST", "/api/stop", "X-Pyburn: 1", f"Content-Length: {len(body)}") + body
    with Dashboard(tmp_path, port=0) as dashboard:
        for refused in (
            head("POST", "/api/curves", f"Content-Length: {len(stop)}", host="evil.example"),
            head("POST", "/api/stop", "Origin: http://evil.example", "X-Pyburn: 1", f"Content-Length: {len(stop)}"),
            head("GET", "/", f"Content-Length: {len(stop)}"),
        ):
            assert statuses(talk(dashboard.port, refused + stop)) in ([403], [400])
        for unmarked in (last("POST", "/api/stop", f"Content-Length: {len(body)}") + body, last("GET", "/api/stop?id=live", "X-Pyburn: 1")):
            assert statuses(talk(dashboard.port, unmarked)) in ([400], [405])
        assert not (tmp_path / "live" / "stop").exists()
        assert statuses(talk(dashboard.port, stop)) == [200]
    assert (tmp_path / "live" / "stop").exists()
    run.finish()
