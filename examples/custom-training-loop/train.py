"""Training without a Learner: every line of the loop is here.

python examples/custom-training-loop/train.py [--epochs 1]
"""

from __future__ import annotations

import argparse
import time

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.data import DataLoader, TensorDataset
from pyburn.data.sets import MNIST


def build(hidden: int = 1024) -> nn.Sequential:
    """The model of examples/guide, with a wider linear layer."""
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3), nn.Dropout(0.5)),
        *(nn.Conv2d(8, 16, 3), nn.Dropout(0.5), nn.ReLU(), nn.AdaptiveAvgPool2d(8), nn.Flatten()),
        *(nn.Linear(16 * 8 * 8, hidden), nn.Dropout(0.5), nn.ReLU()),
        nn.Linear(hidden, 10),
    )


def load_digits(train: bool, batch_size: int, items: int | None) -> DataLoader:
    digits = MNIST(train=train)
    images = (digits.data[:items].unsqueeze(1).float() / 255 - 0.1307) / 0.3081
    return DataLoader(TensorDataset(images, digits.targets[:items]), batch_size, shuffle=train)


def count_right(scores: Tensor, labels: Tensor) -> int:
    return int((scores.argmax(1) == labels).sum())


def train_epoch(model: nn.Module, optimizer: optim.Optimizer, batches: DataLoader, epoch: int, log_every: int) -> None:
    model.train()
    started = time.perf_counter()
    for number, (images, labels) in enumerate(batches, start=1):
        scores = model(images)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % log_every == 0 or number == len(batches):
            rate = number * len(labels) / (time.perf_counter() - started)
            share = count_right(scores, labels) / len(labels)
            print(
                f"[train, epoch {epoch}, batch {number}/{len(batches)}] loss {loss.item():.3f}, accuracy {share:.1%}, {rate:.0f} pictures/s"
            )


def validate(model: nn.Module, batches: DataLoader) -> tuple[float, float]:
    """The mean loss and the accuracy over all batches."""
    model.eval()
    loss, right, seen = 0.0, 0, 0
    with pyburn.no_grad():
        for images, labels in batches:
            scores = model(images)
            loss += nn.functional.cross_entropy(scores, labels, reduction="sum").item()
            right += count_right(scores, labels)
            seen += len(labels)
    return loss / seen, right / seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=1, help="how often to see every picture (default: 1; Burn: 10)")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate (default: 1e-3; Burn: 1e-4)")
    parser.add_argument("--batch-size", type=int, default=64, help="pictures a step (default: 64)")
    parser.add_argument("--items", type=int, help="use the first so many pictures only")
    parser.add_argument("--log-every", type=int, default=100, help="print a line every so many steps (default: 100)")
    arguments = parser.parse_args()

    pyburn.manual_seed(42)
    training = load_digits(True, arguments.batch_size, arguments.items)
    validation = load_digits(False, 500, arguments.items)
    model = build()
    optimizer = optim.Adam(model.parameters(), lr=arguments.lr)
    for epoch in range(1, arguments.epochs + 1):
        train_epoch(model, optimizer, training, epoch, arguments.log_every)
        loss, accuracy = validate(model, validation)
        print(f"[valid, epoch {epoch}] loss {loss:.3f}, accuracy {accuracy:.2%}")


if __name__ == "__main__":
    main()
