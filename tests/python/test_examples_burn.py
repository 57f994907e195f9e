"""The examples that Burn has too run on small settings and learn; their figures are in their READMEs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA = os.environ.get("PYBURN_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="PYBURN_DATA is not set")
PNG = b"\x89PNG"


def run(script: str, *arguments: object, cwd: Path) -> str:
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def number(pattern: str, output: str) -> float:
    """The number that a pattern captures in what was printed."""
    found = re.search(pattern, output)
    assert found is not None, output
    return float(found[1])


def test_guide(tmp_path: Path) -> None:
    output = run("guide/guide.py", "train", "--items", 1500, "--display", "quiet", cwd=tmp_path)
    assert number(r"not seen: ([\d.]+)%", output) > 60
    assert number(r"picture 42: predicted (\d)", output) in range(10)
    assert (tmp_path / "guide-output" / "report.html").exists()
    assert "picture 3: predicted" in run("guide/guide.py", "infer", "--index", 3, cwd=tmp_path)
    assert "AdaptiveAvgPool2d" in run("guide/guide.py", "print", cwd=tmp_path)


def test_mnist(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    small = ("--quick", "--epochs", 1, "--drawn", 30, "--tested", 16, "--display", "quiet")
    output = run("mnist/mnist.py", *small, cwd=tmp_path)
    rows = re.findall(r"^  (\S.*?) +[\d.]+%  ", output, re.MULTILINE)
    assert len(rows) == 16
    assert {"Plain", "Tr Sr", "Sr Sc Ro", "All"} <= set(rows)
    assert (tmp_path / "mnist-quick-output" / "predictions.png").read_bytes().startswith(PNG)
    other = ("--epochs", 1, "--drawn", 60, "--tested", 16, "--display", "quiet")  # the next command of the README, of another size
    assert "mnist-output/model.pyburn" in run("mnist/mnist.py", *other, cwd=tmp_path)


def test_mnist_distortions_compose() -> None:
    """A shifted, scaled, turned digit is what one map made of three gives; without distortions a digit stays as it is."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import mnist, numpy as np, pyburn\n"
        "image = pyburn.rand(3, 28, 28); labels = pyburn.tensor([4, 5, 6])\n"
        "plain = mnist.DistortedDigits(image, labels, (), 3, seed=1)\n"
        "pixels, kept = mnist.collate([plain[i] for i in range(3)])\n"
        "assert pyburn.allclose(pixels[:, 0] * 0.3081 + 0.1307, image, atol=1e-5) and kept.tolist() == [4, 5, 6]\n"
        "data = mnist.DistortedDigits(image, labels, ('Tr', 'Sc', 'Ro'), 3, seed=1)\n"
        "random = np.random.default_rng((1, 0))\n"
        "whole = mnist.translate(random) @ mnist.scale(random) @ mnist.rotate(random)\n"
        "assert np.allclose(data[0][1].numpy(), whole[:2], atol=1e-6)\n"
        "assert pyburn.equal(data[2][1], data[2][1]) and not pyburn.equal(data[2][1], data[1][1])\n"
    )
    subprocess.run([sys.executable, "-c", code, str(EXAMPLES / "mnist")], check=True)


def test_simple_regression(tmp_path: Path) -> None:
    output = run("simple-regression/regression.py", "--epochs", 12, "--display", "quiet", cwd=tmp_path)
    assert number(r"R2 ([\d.]+)", output) > 0.4
    assert (tmp_path / "regression-output" / "predictions.svg").read_text().count("<circle") == 1000


def test_custom_training_loop(tmp_path: Path) -> None:
    output = run("custom-training-loop/train.py", "--items", 1500, "--log-every", 10, cwd=tmp_path)
    assert number(r"\[valid, epoch 1\] .*accuracy ([\d.]+)%", output) > 60


def test_custom_image_dataset(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    for part, count in (("train", 60), ("test", 25)):
        for name in ("frog", "ship"):
            folder = tmp_path / "pictures" / part / name
            folder.mkdir(parents=True)
            found = sorted((Path(str(DATA)) / "cifar10_folder" / part / name).iterdir())[:count]
            for picture in found:
                (folder / picture.name).symlink_to(picture)
    small = ("--data", "pictures", "--epochs", 5, "--batch-size", 8, "--display", "quiet")
    output = run("custom-image-dataset/cifar.py", *small, cwd=tmp_path)
    assert "120 pictures of 2 classes" in output
    assert number(r"not seen: ([\d.]+)%", output) > 60
    assert (tmp_path / "cifar-output" / "model.pyburn").exists()


def test_custom_csv_dataset(tmp_path: Path) -> None:
    output = run("custom-csv-dataset/diabetes.py", cwd=tmp_path)
    assert "442 patients" in output
    assert "Patient(age=59, sex=2, bmi=32.1" in output
    assert "age [59, 48, 72, 24], progression [151, 75, 141, 206]" in output
    assert (tmp_path / "diabetes.tsv").read_text().startswith("AGE\tSEX\tBMI")


def test_text_classification(tmp_path: Path) -> None:
    output = run("text-classification/classify.py", "train", "--limit", 1200, "--display", "quiet", cwd=tmp_path)
    assert number(r"not seen: ([\d.]+)%", output) > 40  # of four classes
    told = run("text-classification/classify.py", "infer", "Rates rise", "A goal in the last minute", cwd=tmp_path).splitlines()
    assert [line.split("  ")[-1] for line in told] == ["Rates rise", "A goal in the last minute"]


@pytest.mark.parametrize("pieces", [0, 300])
def test_text_generation(tmp_path: Path, pieces: int) -> None:
    small = ("--epochs", 1, "--items", 640, "--width", 32, "--pieces", pieces, "--display", "quiet")
    output = run("text-generation/generate.py", "train", *small, cwd=tmp_path)
    assert number(r"not seen: ([\d.]+) a token", output) < (300 if pieces else 65)  # less than guessing
    first, again = (run("text-generation/generate.py", "sample", "KING:", "--count", 20, cwd=tmp_path) for _ in range(2))
    assert first == again
    assert first.startswith("KING:")


def test_modern_lstm(tmp_path: Path) -> None:
    output = run("modern-lstm/lstm.py", "--epochs", 10, "--sequences", 320, cwd=tmp_path)
    early, late = (float(error) for error in re.findall(r"has not seen ([\d.]+)", output))
    assert late < 0.9 * early
    assert len(re.findall(r"^ +-?[\d.]+ +-?[\d.]+$", output, re.MULTILINE)) == 10


def test_import_model_weights(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    for name in ("mnist.pt", "mnist.safetensors"):
        output = run("import-model-weights/weights.py", "predict", name, "--items", 300, "--sheet", "sheet.png", cwd=tmp_path)
        assert "predicted 4" in output
        assert number(r"are right: ([\d.]+)%", output) > 98
    assert (tmp_path / "sheet.png").read_bytes().startswith(PNG)
    assert "the same" in run("import-model-weights/weights.py", "convert", "mnist.pt", "model.pyburn", cwd=tmp_path)
    assert "predicted 4" in run("import-model-weights/weights.py", "predict", "model.pyburn", "--items", 300, cwd=tmp_path)


def test_wgan(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    run("wgan/wgan.py", "train", "--items", 1280, "--epochs", 1, cwd=tmp_path)
    assert (tmp_path / "wgan-output" / "epoch-001.png").read_bytes().startswith(PNG)
    run("wgan/wgan.py", "generate", "new.png", "--seed", 3, cwd=tmp_path)
    assert (tmp_path / "new.png").read_bytes().startswith(PNG)
