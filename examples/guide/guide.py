"""The whole way once: a model, its data, training, and a prediction from what was saved.

python examples/guide/guide.py train             learns to read digits and saves the model
python examples/guide/guide.py infer --index 42  loads it and reads one digit of the test set
python examples/guide/guide.py print             shows the model
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.config import Config
from pyburn.data import DataLoader, TensorDataset
from pyburn.data.sets import MNIST
from pyburn.io import load_into, save_module
from pyburn.train import Learner


class GuideConfig(Config):
    """Everything that a training depends on. It is saved with the weights, so that a file says itself what model it holds."""

    classes: int = 10
    hidden: int = 512
    dropout: float = 0.5
    epochs: int = 1
    batch_size: int = 64
    lr: float = 1e-3
    seed: int = 42

    def init(self, device: object = None) -> Digits:
        return Digits(self).to(device) if device is not None else Digits(self)


class Digits(nn.Module):
    """Two convolutions, a pool to 8 x 8, two linear layers."""

    def __init__(self, config: GuideConfig) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.pool = nn.AdaptiveAvgPool2d(8)
        self.linear1 = nn.Linear(16 * 8 * 8, config.hidden)
        self.linear2 = nn.Linear(config.hidden, config.classes)
        self.dropout = nn.Dropout(config.dropout)
        self.activation = nn.ReLU()

    def forward(self, images: Tensor) -> Tensor:
        """Pictures (batch, 28, 28) to scores (batch, classes)."""
        x = images.unsqueeze(1)
        x = self.dropout(self.conv1(x))
        x = self.activation(self.dropout(self.conv2(x)))
        x = self.pool(x).flatten(1)
        x = self.activation(self.dropout(self.linear1(x)))
        return self.linear2(x)


def load_digits(train: bool, items: int | None = None) -> TensorDataset:
    """MNIST with pixels of mean 0 and deviation 1; only the first `items`, if that is given."""
    digits = MNIST(train=train)
    images = (digits.data[:items].float() / 255 - 0.1307) / 0.3081
    return TensorDataset(images, digits.targets[:items])


def train(config: GuideConfig, output: Path, items: int | None = None, display: str = "auto") -> int:
    pyburn.manual_seed(config.seed)
    model = config.init()
    training = DataLoader(load_digits(train=True, items=items), config.batch_size, shuffle=True)
    validation = DataLoader(load_digits(train=False, items=items), 500)
    learner = Learner(model, optim.Adam(model.parameters(), lr=config.lr), loss=nn.CrossEntropyLoss(), metrics=["accuracy"])
    history = learner.fit(training, validation, config.epochs, run=output, config=config, resume=True, display=display)
    if history.stopped:
        return 130  # everything is saved; the same command goes on
    save_module(model, output / "model.pyburn", config=config)
    print(f"accuracy on {len(validation.dataset)} digits it has not seen: {history['valid/accuracy'][-1]:.2%}")
    print(f"saved: {output / 'model.pyburn'}")
    return 0


def infer(path: Path, index: int) -> int:
    """Reads one digit with the model of a file."""
    model = GuideConfig.load(path).init()
    load_into(model, path)
    model.eval()
    image, label = load_digits(train=False)[index]
    with pyburn.inference_mode():
        scores = model(image.unsqueeze(0)).softmax(1)[0]
    digit = int(scores.argmax())
    print(f"picture {index}: predicted {digit} ({float(scores[digit]):.1%}), expected {int(label)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("train", "infer", "print"))
    parser.add_argument("--output", type=Path, default=Path("guide-output"), help="folder of the run and the model (default: guide-output)")
    parser.add_argument("--index", type=int, default=42, help="which test picture to read (default: 42)")
    parser.add_argument("--epochs", type=int, help="how often to see every picture (default: 1)")
    parser.add_argument("--items", type=int, help="learn from the first so many pictures only")
    parser.add_argument("--burn", action="store_true", help="Burn's settings: 10 epochs with a learning rate of 1e-4")
    parser.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    arguments = parser.parse_args()
    config = GuideConfig(epochs=10, lr=1e-4) if arguments.burn else GuideConfig()
    if arguments.epochs:
        config = config.with_epochs(arguments.epochs)
    if arguments.command == "print":
        print(pyburn.summary(config.init(), (1, 28, 28)))
        return 0
    if arguments.command == "train":
        code = train(config, arguments.output, arguments.items, arguments.display)
        if code:
            return code
    return infer(arguments.output / "model.pyburn", arguments.index)


if __name__ == "__main__":
    sys.exit(main())
