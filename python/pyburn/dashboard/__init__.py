"""Runs in the browser: `pyburn dashboard runs/`, or from a program that trains.

    with pyburn.dashboard.Dashboard("runs") as dashboard:
        print(dashboard.url)
        ...  # train

Everything comes out of the package, nothing from elsewhere; it listens on this machine only unless it is told otherwise.
"""

from .serving import PORT, Dashboard, serve

__all__ = ["PORT", "Dashboard", "serve"]
