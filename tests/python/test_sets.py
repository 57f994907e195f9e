"""Named sets: what they hold, where they are found, and how they are downloaded."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import pickle
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import FormatError, chemistry, eeg, imaging
from pyburn.data import files, sets
from pyburn.data.sets import images
from pyburn.nn.geometric import Batch, Data

DATA = os.environ.get("PYBURN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Neither data nor a filled cache: gives the folder of the cache."""
    monkeypatch.delenv("PYBURN_DATA", raising=False)
    monkeypatch.setenv("PYBURN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write_mnist(folder: Path, count: int = 5, kind: str = "train") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.arange(count * 784, dtype=np.int64).astype(np.uint8).reshape(count, 28, 28)
    files.write_idx(str(folder / f"{kind}-images-idx3-ubyte"), pixels)
    files.write_idx(str(folder / f"{kind}-labels-idx1-ubyte"), np.arange(count, dtype=np.uint8))


# --- where files are found ---


@pytest.mark.parametrize("folder", [".", "MNIST/raw", "mnist"])
def test_a_root_is_searched(folder: str, no_data: Path, tmp_path: Path) -> None:
    write_mnist(tmp_path / "root" / folder)
    digits = sets.MNIST(tmp_path / "root", download=False)
    image, label = digits[1]
    assert len(digits) == 5 and image.shape == (1, 28, 28) and image.dtype == pyburn.uint8 and label == 1 and isinstance(label, int)
    assert digits.data.shape == (5, 28, 28) and digits.targets.tolist() == [0, 1, 2, 3, 4]
    assert digits.class_to_idx["3 - three"] == 3 and repr(digits) == "MNIST(5 images, 10 classes)"
    with pytest.raises(IndexError):
        digits[5]
    with pytest.raises(sets.DataNotFoundError):
        sets.MNIST(tmp_path / "root", train=False, download=False)


def test_the_environment_and_the_cache_are_searched(no_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mnist(no_data / "MNIST" / "raw", 3)
    assert len(sets.MNIST(download=False)) == 3
    write_mnist(tmp_path / "data" / "mnist", 4)
    monkeypatch.setenv("PYBURN_DATA", str(tmp_path / "data"))
    assert len(sets.MNIST(download=False)) == 4
    write_mnist(tmp_path / "package", 2)
    monkeypatch.setattr(sets.FashionMNIST, "packaged", (tmp_path / "package",))
    fashion = sets.FashionMNIST(download=False)
    assert len(fashion) == 2 and fashion.classes[9] == "Ankle boot"


def test_transforms_get_what_those_of_torchvision_get(no_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="transforms get images of Pillow")
    write_mnist(tmp_path)
    digits = sets.MNIST(
        tmp_path, transform=lambda image: (image.mode, image.size, image.getpixel((1, 0))), target_transform=lambda label: label + 10
    )
    assert digits[2] == (("L", (28, 28), (2 * 784 + 1) % 256), 12)


def test_without_pillow_transforms_name_the_extra(no_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    write_mnist(tmp_path)
    assert sets.MNIST(tmp_path)[0][0].shape == (1, 28, 28)
    with pytest.raises(ImportError, match="pip install Pillow"):
        sets.MNIST(tmp_path, transform=lambda image: image)[0]


def test_errors_name_missing_files(no_data: Path, tmp_path: Path) -> None:
    with pytest.raises(sets.DataNotFoundError, match="ESOL was not found in .*molecules.* download=True downloads it to"):
        chemistry.ESOL(download=False)
    with pytest.raises(FileNotFoundError, match="cannot be downloaded. Ask for sp1s_aa.mat at"):
        eeg.SelfPaced1s()
    with pytest.raises(RuntimeError, match="Put S002R04.edf"):
        eeg.PhysioNetMotorImagery(subject=2, runs=[4])
    with pytest.raises(ValueError, match="runs 3, 4, 7, 8, 11, 12"):
        eeg.PhysioNetMotorImagery(runs=[5])


def test_inconsistent_files_are_refused(no_data: Path, tmp_path: Path) -> None:
    write_mnist(tmp_path)
    files.write_idx(str(tmp_path / "train-labels-idx1-ubyte"), np.zeros(3, np.uint8))
    with pytest.raises(FormatError, match="images, but"):
        sets.MNIST(tmp_path)
    (tmp_path / "delaney-processed.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match="has no column 'smiles': there are a, b"):
        chemistry.ESOL(tmp_path)


# --- downloads ---


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A folder and the address under which it can be had."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{made.server_address[1]}", folder
        made.shutdown()
        thread.join()


def test_a_set_is_downloaded_to_the_cache(server: tuple[str, Path], no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, folder = server
    write_mnist(folder)
    for path in list(folder.iterdir()):
        path.rename(path.with_name(path.name + ".gz"))  # names say gzip, contents need not be
    sums = {path.name.removesuffix(".gz"): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    monkeypatch.setattr(sets.MNIST, "mirrors", (f"{url}/gone", url))
    monkeypatch.setattr(sets.MNIST, "checksums", sums)
    assert len(sets.MNIST()) == 5
    assert sorted(os.listdir(no_data / "MNIST" / "raw")) == ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"]
    assert len(sets.MNIST(download=False)) == 5


def test_cifar_is_downloaded_and_unpacked(server: tuple[str, Path], no_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, folder = server
    with tarfile.open(folder / "c.tar.gz", "w:gz") as archive:
        for i, name in enumerate([f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]):
            pixels = np.full((2, 3072), i, np.uint8)
            pixels[:, :1024] = 200  # red comes first
            (tmp_path / name).write_bytes(pickle.dumps({"data": pixels, "labels": [i, 9], "batch_label": "x"}, 2))
            archive.add(tmp_path / name, f"cifar-10-batches-py/{name}")
    checksum = "sha256:" + hashlib.sha256((folder / "c.tar.gz").read_bytes()).hexdigest()
    monkeypatch.setattr(images, "Resource", lambda name, urls, sum: sets.place.Resource(name, (f"{url}/c.tar.gz",), checksum))
    pictures = sets.CIFAR10()
    assert len(pictures) == 10 and pictures.targets == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9] and pictures.data.shape == (10, 32, 32, 3)
    image, label = pictures[4]
    assert image.shape == (3, 32, 32) and image[0].unique().tolist() == [200] and image[1].unique().tolist() == [2] and label == 2
    assert len(sets.CIFAR10(train=False)) == 2


def test_addresses_and_checksums_are_whole() -> None:
    """Every file that is downloaded has an address with a checksum of the right length."""
    resources: list[sets.place.Resource] = [
        kind.resource for kind in (chemistry.ESOL, chemistry.FreeSolv, chemistry.Lipophilicity, chemistry.Tox21)
    ]
    for module, names in ((imaging, 60), (eeg, 14), (sets, 16)):
        (file,) = Path(module.__file__ or "").parent.glob("*.sums")
        checksums = sets.place.read_checksums(file)
        resources += [sets.place.Resource(name, ("http://",), checksum) for name, checksum in checksums.items()]
        assert len(checksums) == names
    for kind in (sets.MNIST, sets.FashionMNIST):
        assert all(len(checksum) == 64 for checksum in kind.checksums.values()) and len(kind.checksums) == 4
    for resource in resources:
        algorithm, _, digits = resource.checksum.partition(":")
        assert len(digits) == {"sha256": 64, "md5": 32, "git": 40}[algorithm] and resource.urls[0].startswith("http")


# --- what the sets hold ---


@needs_data
@pytest.mark.parametrize(
    "make, count, shape, classes",
    [
        (lambda: sets.MNIST(), 60000, (1, 28, 28), 10),
        (lambda: sets.MNIST(train=False), 10000, (1, 28, 28), 10),
        (lambda: sets.CIFAR10(train=False), 500, (3, 32, 32), 10),
        (lambda: sets.Digits(), 1797, (64,), 10),
        (lambda: sets.BreastCancer(), 569, (30,), 2),
        (lambda: eeg.PhysioNetMotorImagery(), 45, (64, 640), 2),
        (lambda: eeg.SelfPaced1s(), 316, (28, 50), 2),
        (lambda: eeg.SelfPaced1s(train=False), 100, (28, 50), 2),
    ],
)
def test_sets_of_classes(make: Any, count: int, shape: tuple[int, ...], classes: int) -> None:
    found = make()
    item, target = found[len(found) - 1]
    assert len(found) == count and item.shape == shape and len(found.classes) == classes
    assert sorted(set(found.targets.tolist() if hasattr(found.targets, "tolist") else found.targets)) == list(range(classes))
    assert int(target) == int(found.targets[len(found) - 1])


@needs_data
def test_tables_are_as_scikit_learn_has_them() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    diabetes, digits, cancer = (load() for load in (datasets.load_diabetes, datasets.load_digits, datasets.load_breast_cancer))
    raw = datasets.load_diabetes(scaled=False)
    assert np.allclose(sets.Diabetes().data.numpy(), raw.data) and np.allclose(sets.Diabetes().targets.numpy(), diabetes.target)
    assert (sets.Digits().images.numpy() == digits.images).all() and (sets.Digits().targets.numpy() == digits.target).all()
    ours = sets.BreastCancer()
    assert np.allclose(ours.data.numpy(), cancer.data, rtol=1e-6) and (ours.targets.numpy() == cancer.target).all()
    assert list(sets.Diabetes.feature_names) == list(raw.feature_names)


@needs_data
def test_california_housing() -> None:
    everything, train, test = (sets.CaliforniaHousing(train=part) for part in (None, True, False))
    assert len(everything) == 20640 == len(train) + len(test) and len(test) == 4128
    assert repr(everything) == "CaliforniaHousing(20640 rows)" and repr(sets.MUTAG()) == "MUTAG(188 graphs)"
    features, value = everything[0]
    # The first district, as scikit-learn's description of the set shows it.
    assert np.allclose(
        features.numpy(), [8.3252, 41, 6.98412698, 1.02380952, 322, 2.55555556, 37.88, -122.23]
    ) and value.item() == pytest.approx(4.526)
    assert not everything.data.isnan().any() and np.isnan(everything.table["total_bedrooms"]).sum() == 207


@needs_data
def test_texts() -> None:
    news = sets.AGNews(train=False, transform=str.lower)
    assert len(news) == 7600 and news[0] == (f"{'Fears for T N pension after talks'} ".lower() + news[0][0][34:], 2)
    assert np.bincount(news.targets).tolist() == [1900] * 4
    train, test = sets.MovieReviews(), sets.MovieReviews(train=False)
    assert len(train) + len(test) == 10662 and train[0] == ("simplistic , silly and tedious .", 0) and set(test.targets) == {0, 1}
    shakespeare = sets.TinyShakespeare(block=64)
    inputs, targets = shakespeare[3]
    assert len(shakespeare.tokeniser) == 65 and inputs.shape == (64,) and inputs[1:].tolist() == targets[:-1].tolist()
    assert shakespeare.tokeniser.decode(shakespeare[0][0].tolist()).startswith("First Citizen:\nBefore we proceed")
    assert len(shakespeare.text) + len(sets.TinyShakespeare(train=False).text) == 1115394


@needs_data
def test_graphs_batch() -> None:
    cora = sets.Cora()
    graph = cora[0]
    assert isinstance(graph, Data) and (cora.num_classes, cora.num_features, len(cora)) == (7, 1433, 1)
    assert [int(graph[mask].sum()) for mask in ("train_mask", "val_mask", "test_mask")] == [140, 500, 1000]
    with pytest.raises(IndexError):
        cora[1]
    mutag = sets.MUTAG()
    batch = Batch.from_data_list([mutag[i] for i in range(len(mutag))])
    assert (len(mutag), mutag.num_classes, mutag.num_features) == (188, 2, 7)
    assert batch.x.shape == (3371, 7) and batch.edge_index.shape == (2, 7442) and batch.y.sum() == 125
    assert (sets.PROTEINS().num_classes, sets.PROTEINS().num_features) == (2, 3)
