"""The dashboard in the terminal; needs the extra `dashboard` when it is opened."""

from .display import TerminalDashboard

__all__ = ["TerminalDashboard"]
