"""The terminal dashboard; opening it needs the extra `dashboard`."""

from .display import TerminalDashboard

__all__ = ["TerminalDashboard"]
