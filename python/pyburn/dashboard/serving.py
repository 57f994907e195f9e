"""Starts the dashboard: beside a training, or as `pyburn dashboard`."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import TracebackType

from ..server import require_http_stack, start_server

PORT = 6007
_NAME = "pyburn dashboard"


class Dashboard:
    """Serves a folder of runs from a thread of its own until it is closed. Needs `pip install pyburn[dashboard]`.

    On another address than this machine's own it asks for a token, which `url` contains.

    Args:
        folder: The folder of a run, or one with runs below it.
        host: The address to listen on.
        port: The port to listen on, or 0 for a free one.
        token: The token to ask for. The default is none on a loopback address and a random one elsewhere.

    Raises:
        ImportError: The packages that serve HTTP are not installed.
        OSError: The address cannot be listened on.

    >>> with pyburn.dashboard.Dashboard("runs", port=0) as dashboard:
    ...     print(dashboard.url.startswith("http://127.0.0.1:"))
    True
    """

    def __init__(
        self, folder: str | os.PathLike[str] = "runs", *, host: str = "127.0.0.1", port: int = PORT, token: str | None = None
    ) -> None:
        require_http_stack("the dashboard in the browser")
        from .answers import Answers
        from .application import application

        self.folder = Path(folder).resolve()
        self._server = start_server(application(Answers(self.folder)), host=host, port=port, token=token, name=_NAME)
        self.host, self.port = self._server.host, self._server.port

    @property
    def url(self) -> str:
        """What to open in a browser."""
        return self._server.url

    def close(self) -> None:
        """Stops serving."""
        self._server.close()

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def serve(
    folder: str | os.PathLike[str] = "runs",
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    open_browser: bool = False,
) -> None:
    """Serves a folder of runs until Ctrl-C: `pyburn dashboard`. A port that is taken gives way to a free one.

    Args:
        folder: The folder of a run, or one with runs below it.
        host: The address to listen on.
        port: The port to listen on, or 0 for a free one.
        token: The token to ask for. The default is none on a loopback address and a random one elsewhere.
        open_browser: Whether to open the page in the browser of this machine.

    Raises:
        ImportError: The packages that serve HTTP are not installed.
        OSError: The address cannot be listened on.
    """
    if not Path(folder).is_dir():
        print(f"There is no folder {os.fspath(folder)} yet: runs appear when they are written there.", file=sys.stderr)
    try:
        dashboard = Dashboard(folder, host=host, port=port, token=token)
    except OSError:
        dashboard = Dashboard(folder, host=host, port=0, token=token)
    with dashboard:
        try:
            print(f"Runs of {dashboard.folder}: {dashboard.url}  (Ctrl-C ends it)", flush=True)
            if open_browser:
                import webbrowser

                webbrowser.open(dashboard.url)
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
