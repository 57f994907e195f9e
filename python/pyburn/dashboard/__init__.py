"""A browser dashboard for runs: `pyburn dashboard runs/`, or from a training program.

    with pyburn.dashboard.Dashboard("runs") as dashboard:
        print(dashboard.url)
        ...  # train

All files are served from the package. It listens on the loopback address unless another host is given.
"""

from .serving import PORT, Dashboard, serve

__all__ = ["PORT", "Dashboard", "serve"]
