"""Starts the dashboard, from a training program or by `pyburn dashboard`."""

from __future__ import annotations

import os
import sys
import threading
from html import escape
from pathlib import Path
from types import TracebackType

from ..server import require_http_stack, start_server

PORT = 6007
_NAME = "pyburn dashboard"


class Dashboard:
    """Serves a folder of runs from a background thread until it is closed.

    Needs starlette, uvicorn and h11 (`pip install starlette uvicorn h11`).

    On other than loopback addresses it requires a token, which `url` contains.

    Args:
        folder: The folder of a run, or one with runs below it.
        host: The address to listen on.
        port: The port to listen on, or 0 for a free one.
        token: The required token. The default is none on a loopback address and a random one elsewhere.

    Raises:
        ImportError: The packages that serve HTTP are not installed.
        OSError: The server cannot listen on the address.

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
        """The address to open in a browser."""
        return self._server.url

    def _repr_html_(self) -> str:
        return (
            f'<a href="{escape(self.url)}" target="_blank" rel="noopener">Dashboard of {escape(self.folder.name)}: {escape(self.url)}</a>'
        )

    def __repr__(self) -> str:
        return f"Dashboard({self.folder.name!r}, url={self.url!r})"

    def close(self) -> None:
        """Stops the server."""
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
    """Serves a folder of runs until Ctrl-C, as `pyburn dashboard` does. Uses a free port if the given one is taken.

    Args:
        folder: The folder of a run, or one with runs below it.
        host: The address to listen on.
        port: The port to listen on, or 0 for a free one.
        token: The required token. The default is none on a loopback address and a random one elsewhere.
        open_browser: Whether to open the page in the local browser.

    Raises:
        ImportError: The packages that serve HTTP are not installed.
        OSError: The server cannot listen on the address.

    >>> pyburn.dashboard.serve("runs")  # doctest: +SKIP
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
