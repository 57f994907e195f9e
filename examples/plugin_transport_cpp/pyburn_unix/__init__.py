"""The devices `remote(unix:///path)` for pyburn: operations run in another process of this machine."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyburn

HERE = Path(__file__).parent


def register() -> None:
    """Called by pyburn when it looks for transports: the entry point in pyproject.toml names this function."""
    pyburn.load_library(HERE / "plugin.so")


@contextlib.contextmanager
def serve(path: str, device: str = "ndarray") -> Iterator[subprocess.Popen[str]]:
    """Runs a server at a path, which must not exist yet, until the block ends."""
    with subprocess.Popen([HERE / "server", path, device], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            if server.stdout.readline() != "listening\n":
                raise pyburn.RemoteError(f"[remote] the server did not start: it ended with {server.wait()}")
            yield server
        finally:
            server.kill()
            Path(path).unlink(missing_ok=True)
