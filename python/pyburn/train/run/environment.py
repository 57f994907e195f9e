"""The environment of a run: environment.json."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from typing import Any

from ... import _core

# Only packages whose versions can explain a result, to keep the file short.
_PACKAGES = ("numpy", "torch", "pillow", "pyarrow", "scikit-learn", "scipy", "textual", "rich")


def environment() -> dict[str, Any]:
    """Returns package versions, machine, command line and git state.

    >>> sorted(pyburn.train.environment())[:4]
    ['command', 'cpu', 'cpu_count', 'device']
    """
    return {
        "pyburn": _core.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _processor(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": _memory(),
        "host": socket.gethostname(),
        "device": str(_core._default_device()),
        "threads": _core.get_num_threads(),
        "simd": _core._simd_level(),
        "command": [sys.executable, *sys.argv],
        "folder": os.getcwd(),
        "git": _git(),
        "packages": _versions(),
        "variables": {key: value for key, value in sorted(os.environ.items()) if key.startswith(("PYBURN_", "OMP_"))},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.processor())
    except OSError:
        return platform.processor()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _git() -> dict[str, Any] | None:
    """Returns the git commit of the working directory and whether it has uncommitted changes."""
    try:
        commit = _output("git", "rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(_output("git", "status", "--porcelain", "--untracked-files=no"))} if commit else None
    except (OSError, subprocess.SubprocessError):
        return None


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=2).stdout.strip()


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
