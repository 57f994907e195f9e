"""A model that was trained elsewhere, from its files: logits as recorded, accuracy on MNIST. Needs the folder PYBURN_DATA."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn import nn

DATA = os.environ.get("PYBURN_DATA")
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "io" / "mnist_logits.json"

pytestmark = pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")


class MnistNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3), nn.Conv2d(16, 24, 3)
        self.norm1 = nn.BatchNorm2d(24)
        self.fc1, self.fc2 = nn.Linear(24 * 22 * 22, 32), nn.Linear(32, 10)
        self.norm2 = nn.BatchNorm2d(10)  # the original has one of vectors: the same numbers, over images of one pixel

    def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
        for conv in (self.conv1, self.conv2, self.conv3):
            x = conv(x).relu()
        x = self.norm1(x).flatten(1)
        x = self.fc2(self.fc1(x).relu())
        return self.norm2(x[:, :, None, None]).flatten(1).log_softmax(1)


def images(kind: str) -> tuple[pyburn.Tensor, np.ndarray]:
    folder = Path(str(DATA)) / "mnist"
    pixels = np.frombuffer(gzip.decompress((folder / f"{kind}-images-idx3-ubyte.gz").read_bytes())[16:], np.uint8)
    labels = np.frombuffer(gzip.decompress((folder / f"{kind}-labels-idx1-ubyte.gz").read_bytes())[8:], np.uint8)
    scaled = (pixels.reshape(-1, 1, 28, 28).astype(np.float32) / 255 - 0.1307) / 0.3081
    return pyburn.from_numpy(np.ascontiguousarray(scaled, np.float32)), labels


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("file", ["mnist.pt", "mnist.safetensors"])
def test_the_trained_model_gives_the_recorded_logits(file: str, mmap: bool) -> None:
    model = MnistNet()
    report = pyburn.io.load_into(model, Path(str(DATA)) / "models" / file, mmap=mmap)
    assert report.complete, report
    golden = json.loads(GOLDEN.read_text())
    x, labels = images("t10k")
    count = len(golden["labels"])
    with pyburn.no_grad():
        logits = model.eval()(x[:count])
    assert pyburn.allclose(logits, pyburn.tensor(golden[file]), rtol=1e-5, atol=1e-5)
    assert labels[:count].tolist() == golden["labels"]


@pytest.mark.parametrize("file", ["mnist.pt", "mnist.safetensors"])
def test_accuracy(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = MnistNet()
    path = Path(str(DATA)) / "models" / file
    model.load_state_dict(pyburn.load(path) if file.endswith(".pt") else pyburn.io.safetensors.load_file(path))
    x, labels = images("t10k")
    right = 0
    with pyburn.no_grad():
        model.eval()
        for start in range(0, len(labels), 500):
            guess = model(x[start : start + 500]).argmax(1).numpy()
            right += int((guess == labels[start : start + 500]).sum())
    with capsys.disabled():
        print(f"\naccuracy of {file} on the {len(labels)} test images of MNIST: {right / len(labels):.2%}")
    assert right / len(labels) > 0.98
