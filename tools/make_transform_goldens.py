"""Makes tests/golden/transforms.json.gz: what torchvision's transforms and scipy's filters do on the cases of
tests/python/transform_cases.py and signal_cases.py.

    python tools/make_transform_goldens.py [--torch PYTHON]

PYTHON is an interpreter that has torchvision and scipy, if this one has not; the tests need neither them nor this script.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "transforms.json.gz"
sys.path.insert(0, str(ROOT / "tests" / "python"))


def plain(array: Any) -> dict[str, Any]:
    numbers = array.ravel().tolist()
    if array.dtype.kind == "f":
        numbers = [float(f"{value:.9g}") for value in numbers]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": numbers}


def record() -> dict[str, Any]:
    import signal_cases  # type: ignore[import-not-found]
    import torch
    import torchvision  # type: ignore[import-not-found]
    import transform_cases  # type: ignore[import-not-found]
    from torchvision import transforms  # type: ignore[import-not-found]
    from torchvision.transforms import functional  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    images = [
        {"kind": kind, "call": call, **plain(transform_cases.run(kind, call, torch, functional, transforms))}
        for kind, call in transform_cases.CASES
    ]
    signals = [{"call": call, **plain(signal_cases.by_scipy(call))} for call in signal_cases.CASES]
    return {"torchvision": torchvision.__version__.split("+")[0], "images": images, "signals": signals}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default=sys.executable, help="an interpreter that has torchvision and scipy")
    parser.add_argument("--record", action="store_true", help="write the goldens as JSON to standard output")
    arguments = parser.parse_args()
    if arguments.record:
        json.dump(record(), sys.stdout)
        return
    made = subprocess.run([arguments.torch, __file__, "--record"], check=True, stdout=subprocess.PIPE).stdout
    with gzip.GzipFile(GOLDEN, "wb", mtime=0) as file:
        file.write(made)
    print(f"{GOLDEN}: {GOLDEN.stat().st_size} bytes")


if __name__ == "__main__":
    main()
