"""A graph network that sorts scientific papers by topic from 20 labelled papers per topic, their words and who cites whom.

python examples/cora/cora.py [--seeds 10] [--epochs 200] [--output cora-output]

Cora comes from the folder of the environment variable PYBURN_DATA, from the cache or from the network.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import pyburn
import pyburn.nn.functional as F
from pyburn import nn, optim
from pyburn.data.sets import Cora
from pyburn.nn.geometric import Data, GCNConv

TOPICS = [
    "theory",
    "reinforcement learning",
    "genetic algorithms",
    "neural networks",
    "probabilistic methods",
    "case based",
    "rule learning",
]
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1"]


class GCN(nn.Module):
    """Kipf and Welling, 2017: two graph convolutions with dropout before each."""

    def __init__(self, features: int, hidden: int, classes: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.first = GCNConv(features, hidden, cached=True)  # the graph does not change: its weights are computed once
        self.second = GCNConv(hidden, classes, cached=True)
        self.dropout = nn.Dropout(dropout)

    def hidden(self, graph: Data) -> pyburn.Tensor:
        return self.first(self.dropout(graph.x), graph.edge_index).relu()

    def forward(self, graph: Data) -> pyburn.Tensor:
        return self.second(self.dropout(self.hidden(graph)), graph.edge_index)


class Result(NamedTuple):
    model: GCN
    validation: float
    test: float


def accuracy(logits: pyburn.Tensor, graph: Data, mask: pyburn.Tensor) -> float:
    return float((logits[mask].argmax(1) == graph.y[mask]).float().mean())


def train(graph: Data, classes: int, seed: int, epochs: int, hidden: int = 16) -> Result:
    """The model of the epoch that is best on the validation papers, and what it does on the test papers."""
    pyburn.manual_seed(seed)
    model = GCN(graph.x.shape[1], hidden, classes)
    decay = [{"params": model.first.parameters(), "weight_decay": 5e-4}, {"params": model.second.parameters(), "weight_decay": 0.0}]
    optimiser = optim.Adam(decay, lr=0.01)
    best = Result(model, 0.0, 0.0)
    for _ in range(epochs):
        model.train()
        loss = F.cross_entropy(model(graph)[graph.train_mask], graph.y[graph.train_mask])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        model.eval()
        with pyburn.no_grad():
            logits = model(graph)
        validation = accuracy(logits, graph, graph.val_mask)
        if validation >= best.validation:
            best = Result(copy.deepcopy(model), validation, accuracy(logits, graph, graph.test_mask))
    return best


def draw(model: GCN, graph: Data, path: Path, size: int = 900) -> None:
    """The papers where the hidden layer puts them, seen along its two widest directions; a colour a topic, links in grey."""
    from PIL import Image, ImageDraw

    model.eval()
    with pyburn.no_grad():
        points = model.hidden(graph).numpy()
    centred = points - points.mean(0)
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    low, high = np.percentile(plane, [0.5, 99.5], axis=0)
    places = (np.clip((plane - low) / (high - low), 0, 1) * (size - 60) + 30) * 2  # drawn twice as large: smooth edges
    sheet = Image.new("RGB", (2 * size, 2 * size + 200), "white")
    pen = ImageDraw.Draw(sheet)
    for start, end in graph.edge_index.numpy().T:
        pen.line([*places[start], *places[end]], fill="#eceff1")
    for (x, y), label in zip(places, graph.y.numpy()):
        pen.ellipse([x - 7, y - 7, x + 7, y + 7], fill=COLOURS[label])
    sheet = sheet.resize((size, size + 100), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(sheet)
    for k, (name, colour) in enumerate(zip(TOPICS, COLOURS)):
        left, top = 30 + k % 4 * 210, size + 15 + k // 4 * 30
        pen.rectangle([left, top, left + 14, top + 14], fill=colour)
        pen.text((left + 22, top + 1), name, fill="#1c2024")
    sheet.save(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many models to train (default: 10)")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--output", type=Path, default=Path("cora-output"), help="where the picture goes (default: cora-output)")
    arguments = parser.parse_args()
    papers = Cora()
    graph = papers[0]
    graph.x = graph.x / graph.x.sum(1, keepdim=True).clamp(min=1)  # every paper's words add up to one
    print(f"{graph.num_nodes} papers, {graph.edge_index.shape[1] // 2} citations, {int(graph.train_mask.sum())} labels to learn from\n")
    results = []
    for seed in range(arguments.seeds):
        results.append(train(graph, papers.num_classes, seed, arguments.epochs))
        print(f"seed {seed}: {results[-1].validation:.1%} of the validation papers, {results[-1].test:.1%} of the test papers", flush=True)
    tests = [result.test for result in results]
    spread = statistics.stdev(tests) if len(tests) > 1 else 0.0
    print(f"\naccuracy on the test papers: {statistics.mean(tests):.2%} (deviation {spread:.2%}); Kipf and Welling report 81.5 %")
    arguments.output.mkdir(parents=True, exist_ok=True)
    draw(max(results, key=lambda result: result.validation).model, graph, arguments.output / "papers.png")
    print(f"picture: {arguments.output / 'papers.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
