"""The HTTP server of pyburn: uvicorn, h11 and starlette, with the checks and limits of docs/servers.md.

Needs the extra `dashboard` (`pip install starlette uvicorn h11`); these packages are imported when a server starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .limits import Limits

if TYPE_CHECKING:
    from .guard import App
    from .running import RunningServer

__all__ = ["Limits", "require_http_stack", "start_server"]


def require_http_stack(name: str) -> None:
    """Raises ImportError if the packages that serve HTTP are not installed.

    Args:
        name: The feature that needs them, for the message.

    Raises:
        ImportError: A package is missing. The message says how to install it.

    >>> require_http_stack("the dashboard")
    """
    try:
        import h11
        import starlette
        import uvicorn
    except ImportError as error:
        raise ImportError(f"{name} needs {error.name}, which is not installed: pip install starlette uvicorn h11") from error


def start_server(
    app: App, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None, name: str = "pyburn server", limits: Limits | None = None
) -> RunningServer:
    """Serves an ASGI application from a background thread. All HTTP servers of pyburn are started here.

    Args:
        app: The application. It receives requests that have passed all checks of docs/servers.md, each with its complete body.
        host: The address to listen on. Other than loopback addresses require a token for every request.
        port: The port to listen on, or 0 for a free one.
        token: The required token. The default is none on a loopback address and a random one elsewhere.
        name: The name of the thread, and of the server in messages.
        limits: The limits of the server.

    Returns:
        The running server. Close it, or use it in a `with` statement.

    Raises:
        ImportError: The packages that serve HTTP are not installed.
        OSError: The server cannot listen on the address.

    >>> from starlette.applications import Starlette
    >>> with start_server(Starlette()) as server:
    ...     print(server.url)
    http://127.0.0.1:...
    """
    require_http_stack(name)
    from .running import RunningServer

    return RunningServer(app, host=host, port=port, token=token, name=name, limits=limits or Limits())
