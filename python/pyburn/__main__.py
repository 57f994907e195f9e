"""python -m pyburn --cmake: the folder to give CMake as pyburn_DIR."""

from __future__ import annotations

import argparse

from pyburn._cmake import cmake_dir


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m pyburn", description="Facts about this installation of pyburn.")
    parser.add_argument("--cmake", action="store_true", required=True, help="print the folder to give CMake as pyburn_DIR")
    parser.parse_args()
    print(cmake_dir())


if __name__ == "__main__":
    main()
