"""pyburn info."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from typing import Any

_PARTS = {  # the extras: modules, what pip installs for them, and their purpose
    "dashboard": (("textual", "starlette", "uvicorn"), "textual starlette uvicorn h11", "dashboards in the terminal and the browser"),
    "wgpu": (("wgpu",), "wgpu==0.32.0", "GPUs (Python 3.11 or newer)"),
    "vision": (("PIL",), "Pillow", "reading and writing images"),
    "parquet": (("pyarrow",), "pyarrow", "reading Parquet files"),
}


def facts() -> dict[str, Any]:
    """Returns what the command prints."""
    import pyburn
    from pyburn.train.run import environment

    found = environment()
    found.pop("command")
    found.pop("variables")
    found["backends"] = {b.name: b.reason or "available" for b in pyburn.backends()}
    found["gpus"] = _gpus()
    found["extras"] = {name: all(map(importlib.util.find_spec, modules)) for name, (modules, *_) in _PARTS.items()}
    found["data"] = os.environ.get("PYBURN_DATA")
    found["cmake"] = pyburn.cmake_dir()
    return found


def _gpus() -> list[dict[str, Any]]:
    import pyburn

    try:
        return [adapter._asdict() for adapter in pyburn.backend.gpu.adapters()]
    except pyburn.DeviceError:
        return []


def run(options: argparse.Namespace) -> int:
    found = facts()
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    memory = f"{found['memory_bytes'] / 2**30:.1f} GiB" if found["memory_bytes"] else "unknown"
    lines = [
        ("pyburn", f"{found['pyburn']} on Python {found['python']}, numpy {found['packages'].get('numpy', '?')}"),
        ("machine", f"{found['cpu']}, {found['cpu_count']} cores, {memory}"),
        ("system", found["platform"]),
        ("device", f"{found['device']}, {found['threads']} threads, {found['simd']}"),
        ("data", found["data"] or "PYBURN_DATA is not set"),
        ("cmake", found["cmake"]),
    ]
    for name, value in lines:
        print(f"{name:10} {value}")
    print("\nbackends")
    for name, state in found["backends"].items():
        print(f"  {name:12} {state}")
    print("\nadapters of wgpu")
    for i, gpu in enumerate(found["gpus"]):
        print(f"  wgpu:{i:<7} {gpu['name']} ({gpu['kind']}, {gpu['api']}), tensors of up to {gpu['largest_tensor'] / 2**20:.0f} MiB")
    if not found["gpus"]:
        print("  none")
    print("\noptional packages")
    for name, (_, packages, use) in _PARTS.items():
        print(f"  {name:12} {use}: " + ("installed" if found["extras"][name] else f"pip install {packages}"))
    return 0
