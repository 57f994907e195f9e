"""How much of each file reader the fuzzer reaches: `make fuzz-coverage` prints a table and fails below 90 % of the lines of a reader.

Only `src/pyburn/io` is compiled again, with gcc's counters, into a fuzzer of its own; the rest is the library of the release build.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
READERS = ("bundle_read", "checkpoint_read", "float8", "inflate", "npy_read", "pickle_names", "pickle_read", "safetensors_index",
           "safetensors_read", "zip_read", "byte_cursor", "fields_json")  # fmt: skip
LEAST = 90.0
FUZZ = ROOT / "tests" / "fuzz"


def compile_counted(source: Path, folder: Path) -> None:
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "--coverage", "-fPIC", f"-I{ROOT / 'src'}"]
    command += [f"-I{FUZZ}", f'-DPYBURN_GOLDEN_FILES="{ROOT / "tests" / "golden" / "io"}"']
    subprocess.run([*command, "-c", str(source), "-o", str(folder / f"{source.stem}.o")], check=True, cwd=folder)


def covered(name: str, folder: Path) -> float:
    report = subprocess.run(["gcov", "--no-output", f"{name}.gcda"], check=True, cwd=folder, stdout=subprocess.PIPE, text=True).stdout
    found = re.search(rf"io/{name}\.cpp'\nLines executed:([\d.]+)%", report)
    return float(found[1]) if found else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "release", help="the folder of libpyburn.so")
    parser.add_argument("--runs", type=int, default=80_000, help="damaged files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    library = arguments.library.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        harness = (FUZZ / "harness" / f"{name}.cpp" for name in ("driver", "entry_points", "random"))
        sources = [*sorted((ROOT / "src" / "pyburn" / "io").glob("*.cpp")), FUZZ / "readers_fuzz.cpp", *harness]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(lambda source: compile_counted(source, folder), sources))
        objects = [str(folder / f"{source.stem}.o") for source in sources]
        fuzz = str(folder / "fuzz")
        subprocess.run(["g++", "--coverage", *objects, f"-L{library}", "-lpyburn", f"-Wl,-rpath,{library}", "-o", fuzz], check=True)
        runs = [fuzz, "--runs", str(arguments.runs)]
        subprocess.run(runs, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        shares = {reader: covered(reader, folder) for reader in READERS}
    for reader, share in shares.items():
        print(f"{reader:20} {share:6.1f} %{'' if share >= LEAST else '   below the aim'}")
    return int(min(shares.values()) < LEAST)


if __name__ == "__main__":
    sys.exit(main())
