"""An LSTM written by hand: gates with layer norm, several layers, both directions. It learns to go on with noisy Fibonacci-like sequences.

python examples/modern-lstm/lstm.py [--epochs 30]
"""

from __future__ import annotations

import argparse

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.data import DataLoader, TensorDataset


class LSTMCell(nn.Module):
    """One step of an LSTM whose gates, cell and output are normalised, and whose forget gate starts open."""

    def __init__(self, inputs: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.from_input = nn.Linear(inputs, 4 * hidden)
        self.from_hidden = nn.Linear(hidden, 4 * hidden)
        self.norm_gates = nn.LayerNorm(4 * hidden)
        self.norm_cell = nn.LayerNorm(hidden)
        self.norm_hidden = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.from_input, self.from_hidden):
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)
        with pyburn.no_grad():
            self.from_input.bias[hidden : 2 * hidden] = 1.0

    def forward(self, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        gates = self.norm_gates(self.from_input(x) + self.from_hidden(hidden))
        enter, forget, candidate, leave = gates.chunk(4, dim=1)
        cell = self.norm_cell(forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh())
        hidden = self.norm_hidden(leave.sigmoid() * cell.tanh())
        return self.dropout(hidden), cell


class StackedLSTM(nn.Module):
    """Layers of cells over a sequence (batch, steps, inputs); gives the output of the uppermost at every step."""

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.hidden = hidden
        last = layers - 1  # what leaves the stack is not dropped
        self.cells = nn.ModuleList(LSTMCell(hidden if i else inputs, hidden, dropout if i < last else 0.0) for i in range(layers))

    def forward(self, sequence: Tensor) -> Tensor:
        states = [(sequence.new_zeros(len(sequence), self.hidden),) * 2 for _ in self.cells]
        outputs = []
        for x in sequence.unbind(1):
            for i, cell in enumerate(self.cells):
                states[i] = cell(x, *states[i])
                x = states[i][0]
            outputs.append(x)
        return pyburn.stack(outputs, 1)


class Forecast(nn.Module):
    """Reads a sequence forwards and backwards and says what comes next."""

    def __init__(self, hidden: int = 32, layers: int = 2, dropout: float = 0.1) -> None:
        super().__init__()
        self.forwards = StackedLSTM(1, hidden, layers, dropout)
        self.backwards = StackedLSTM(1, hidden, layers, dropout)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(2 * hidden, 1)

    def forward(self, sequence: Tensor) -> Tensor:
        there, back = self.forwards(sequence), self.backwards(sequence.flip(1)).flip(1)
        return self.output(self.dropout(pyburn.cat([there, back], 2)[:, -1]))


def make_sequences(count: int, length: int = 10, noise: float = 0.1) -> TensorDataset:
    """Two numbers between 0 and 1, then always the sum of the last two and some noise. The last number is the target."""
    numbers = list(pyburn.rand(2, count).unbind(0))
    for _ in range(length):
        numbers.append(numbers[-2] + numbers[-1] + noise * pyburn.randn(count))
    return TensorDataset(pyburn.stack(numbers[:-1], 1).unsqueeze(2), numbers[-1].unsqueeze(1))


def mean_error(model: nn.Module, batches: DataLoader) -> float:
    model.eval()
    with pyburn.no_grad():
        sums = [nn.functional.mse_loss(model(x), y, reduction="sum").item() for x, y in batches]
    return sum(sums) / len(batches.dataset)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30, help="how often to see every sequence (default: 30, as Burn)")
    parser.add_argument("--sequences", type=int, default=1000, help="how many to learn from (default: 1000, as Burn)")
    parser.add_argument("--hidden", type=int, default=32, help="size of a cell (default: 32, as Burn)")
    parser.add_argument("--seed", type=int, default=5, help="seed of data, weights and dropout (default: 5)")
    arguments = parser.parse_args()

    pyburn.manual_seed(arguments.seed)
    training, held_out = make_sequences(arguments.sequences), make_sequences(200)
    batches, validation = DataLoader(training, 32, shuffle=True), DataLoader(held_out, 200)
    model = Forecast(arguments.hidden)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    spread = held_out.tensors[1].var().item()  # the error of somebody who always says the mean
    print(f"{sum(p.numel() for p in model.parameters())} weights; the targets have a variance of {spread:.0f}")
    for epoch in range(1, arguments.epochs + 1):
        model.train()
        total = 0.0
        for x, y in batches:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * len(x)
        if epoch % 5 == 0 or epoch == arguments.epochs:
            held_out_error = mean_error(model, validation)
            print(f"epoch {epoch:3}: mean squared error {total / len(training):.3f}, on sequences it has not seen {held_out_error:.3f}")

    model.eval()
    x, y = held_out[:10]
    with pyburn.no_grad():
        predicted = model(x)
    print("\n predicted   expected")
    for guess, truth in zip(predicted[:, 0].tolist(), y[:, 0].tolist()):
        print(f"{guess:10.2f} {truth:10.2f}")


if __name__ == "__main__":
    main()
