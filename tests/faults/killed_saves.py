"""Writes the same files again and again, each time whole and with other contents: python killed_saves.py FOLDER."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

import pyburn
from pyburn.data.files import write_idx, write_wav
from pyburn.train import CheckpointFolder, Last
from pyburn.train.run.append_file import AppendFile, replace_text

FIRST = 1 << 15


def main(folder: Path) -> None:
    checkpoints = CheckpointFolder(folder / "checkpoints", [Last(2)])
    log = AppendFile(folder / "log.csv")
    begin = checkpoints.entries[-1].step + 1 if checkpoints.entries else 1
    for number in itertools.count(begin):
        state = {"a": pyburn.full((FIRST,), float(number)), "b": pyburn.full((7,), float(number))}
        pyburn.save(state, folder / "saved.pt")
        pyburn.io.safetensors.save_file(state, folder / "saved.safetensors")
        pyburn.io.Bundle.save(folder / "saved.pyburn", state)
        pyburn.io.save_npz(folder / "saved.npz", **state)
        write_idx(folder / "saved.idx", np.full(FIRST, number, np.int32))
        write_wav(folder / "saved.wav", np.full(FIRST, number % 1000, np.int16), 8000)
        replace_text(folder / "saved.json", f"[{number}, {'1, ' * 20000}{number}]\n")
        checkpoints.save(state, epoch=number, step=number)
        log.add(f"{number},{number * 2},{number * 3}\n".encode())
        log.flush()
        print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
