"""What every HTTP server of pyburn stands on: uvicorn, h11 and starlette, and in front of them the checks and bounds of docs/servers.md.

Needs `pip install pyburn[dashboard]`, which is loaded when a server starts.
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
        name: What needs them, for the message.

    Raises:
        ImportError: A package is missing. The message says how to install it.
    """
    try:
        import h11
        import starlette
        import uvicorn
    except ImportError as error:
        raise ImportError(f"{name} needs {error.name}, which is not installed: pip install pyburn[dashboard]") from error


def start_server(
    app: App, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None, name: str = "pyburn server", limits: Limits | None = None
) -> RunningServer:
    """Serves an ASGI application from a thread of its own. Everything in pyburn that listens for HTTP is started here.

    Args:
        app: The application. It gets requests that have passed every check of docs/servers.md, each with its whole body.
        host: The address to listen on. Any other than a loopback address asks every request for a token.
        port: The port to listen on, or 0 for a free one.
        token: The token to ask for. The default is none on a loopback address and a random one elsewhere.
        name: The name of the thread, and of the server in messages.
        limits: The bounds of the server.

    Returns:
        The running server. Close it, or use it in a `with` statement.

    Raises:
        ImportError: The packages that serve HTTP are not installed.
        OSError: The address cannot be listened on.
    """
    require_http_stack(name)
    from .running import RunningServer

    return RunningServer(app, host=host, port=port, token=token, name=name, limits=limits or Limits())
