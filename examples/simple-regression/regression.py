"""A small network estimates house prices in California from eight numbers about a district.

python examples/simple-regression/regression.py [--epochs 100] [--output regression-output]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import pyburn
from pyburn import nn, optim
from pyburn.data import DataLoader, TensorDataset
from pyburn.data.sets import CaliforniaHousing
from pyburn.train import Learner
from pyburn.train.run.svg_plots import COLOURS, STYLE


def load_parts() -> tuple[TensorDataset, TensorDataset, TensorDataset]:
    """Districts to learn from, to validate and to test with: of every five the first three, the fourth, the fifth.

    Features are scaled to lie between 0 and 1 where learning happens; the bounds come from there alone.
    """
    known, test = CaliforniaHousing(train=True), CaliforniaHousing(train=False)
    held_back = pyburn.arange(len(known)) % 4 == 3
    rows, prices = known.data[~held_back], known.targets[~held_back]
    low, high = rows.amin(0), rows.amax(0)
    parts = [(rows, prices), (known.data[held_back], known.targets[held_back]), (test.data, test.targets)]
    train, valid, tested = (TensorDataset((x - low) / (high - low), y.unsqueeze(1)) for x, y in parts)
    return train, valid, tested


def scatter(expected: np.ndarray, predicted: np.ndarray, path: Path) -> None:
    """Predicted over expected prices as SVG; what is right lies on the line."""
    size, edge, most = 420, 46, 5.2

    def place(value: float) -> float:
        return edge + min(max(value, 0.0), most) / most * (size - edge - 28)  # the title stands above

    marks = [
        f'<text x="{place(tick):.0f}" y="{size - edge + 18}" text-anchor="middle">{tick}</text>'
        f'<text x="{edge - 8}" y="{size - place(tick) + 4:.0f}" text-anchor="end">{tick}</text>'
        for tick in range(6)
    ]
    dots = [f'<circle cx="{place(x):.1f}" cy="{size - place(y):.1f}" r="2"/>' for x, y in zip(expected, predicted)]
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{2 * size}"><style>{STYLE}</style>'
        f'<rect width="{size}" height="{size}" style="fill: var(--ground)"/><text class="title" x="{edge}" y="16">median house value, '
        f'in 100,000 dollars</text>{"".join(marks)}<line class="mark" x1="{place(0)}" y1="{size - place(0)}" x2="{place(most)}" '
        f'y2="{size - place(most)}"/><g style="fill:{COLOURS[0]};fill-opacity:0.45">{"".join(dots)}</g>'
        f'<text x="{size - 12}" y="{size - 8}" text-anchor="end">expected</text><text x="14" y="{size / 2}" '
        f'text-anchor="middle" transform="rotate(-90 14 {size / 2})">predicted</text></svg>'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=100, help="how often to see every district (default: 100, as Burn)")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate (default: 1e-3, as Burn)")
    parser.add_argument("--output", type=Path, default=Path("regression-output"), help="folder of the run and the plot")
    parser.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    arguments = parser.parse_args()

    pyburn.manual_seed(1337)
    train, valid, test = load_parts()
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = optim.Adam(model.parameters(), lr=arguments.lr)
    learner = Learner(model, optimizer, loss=nn.MSELoss(), metrics=["r2"])
    history = learner.fit(
        DataLoader(train, 256, shuffle=True),
        DataLoader(valid, 1024),
        arguments.epochs,
        run=arguments.output / "run",
        config={"epochs": arguments.epochs, "lr": arguments.lr},
        resume=True,
        display=arguments.display,
    )
    if history.stopped:
        return 130
    result = learner.evaluate(DataLoader(test, 1024))
    print(f"{len(test)} districts it has not seen: mean squared error {result['loss']:.3f}, R2 {result['r2']:.3f}")

    rows, prices = test[:1000]
    predicted, expected = learner.predict(rows).numpy()[:, 0], prices.numpy()[:, 0]
    scatter(expected, predicted, arguments.output / "predictions.svg")
    print(f"the first: predicted {predicted[0]:.2f}, expected {expected[0]:.2f} (100,000 dollars)")
    print(f"look at {arguments.output / 'predictions.svg'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
