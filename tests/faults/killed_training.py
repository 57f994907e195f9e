"""A Learner that may be killed: python killed_training.py FOLDER WORKERS DELAY. Prints the checksum of everything at the end."""

from __future__ import annotations

import hashlib
import sys
import time
from typing import Any

import pyburn
from pyburn import nn
from pyburn.data import DataLoader, TensorDataset
from pyburn.train import Best, Every, Last, Learner, When

EPOCHS, STEPS = 6, 6 * 8


def digest(learner: Any) -> str:
    found = hashlib.sha256()
    state = learner.state_dict()
    for key in ("model", "ema"):
        for name, tensor in state[key].items():
            found.update(name.encode() + tensor.numpy().tobytes())
    for moments in state["optimizer"]["state"].values():
        for name in sorted(moments):
            value = moments[name]
            found.update(value.numpy().tobytes() if isinstance(value, pyburn.Tensor) else repr(value).encode())
    return found.hexdigest()


def main(folder: str, workers: int, delay: float) -> None:
    pyburn.manual_seed(3)
    x = pyburn.randn(64, 5)
    y = (x @ pyburn.randn(5, 3)).argmax(1)
    model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=0.02)
    schedule = pyburn.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)
    slow = When(on_step_end=lambda learner: time.sleep(delay))
    learner = Learner(model, optimizer, schedule, nn.CrossEntropyLoss(), metrics=["accuracy"], ema=0.9, callbacks=[slow])
    train = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, num_workers=workers)
    valid = [(x, y)]
    rules = [Last(2), Best("valid/loss"), Every(steps=2, keep=2)]
    history = learner.fit(train, valid, EPOCHS, run=folder, checkpoints=rules, resume=True, log_every=1, display="quiet")
    print("stopped:", history.stopped, flush=True)
    print("digest:", digest(learner), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
