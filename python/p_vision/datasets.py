"""Keras's `datasets`: `(x_train, y_train), (x_test, y_test) = datasets.mnist.load_data()`, based on pyburn.data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

Arrays = tuple[tuple[Any, Any], tuple[Any, Any]]


def _images(kind: str) -> Arrays:
    import numpy

    from pyburn.data import sets

    def part(train: bool) -> tuple[Any, Any]:
        found = getattr(sets, kind)(train=train)
        targets = numpy.asarray(found.targets).astype(numpy.uint8)
        return numpy.asarray(found.data), targets.reshape(-1, 1) if kind == "CIFAR10" else targets

    return part(True), part(False)


def _mnist(path: str = "mnist.npz") -> Arrays:
    """MNIST: uint8 images (60000, 28, 28) and (10000, 28, 28) with labels."""
    return _images("MNIST")


def _fashion_mnist() -> Arrays:
    """Fashion-MNIST: the same format as MNIST."""
    return _images("FashionMNIST")


def _cifar10() -> Arrays:
    """CIFAR-10: color images (50000, 32, 32, 3) and (10000, 32, 32, 3) with labels (n, 1)."""
    return _images("CIFAR10")


def _california_housing(version: str = "large", path: str | None = None, test_split: float = 0.2, seed: int = 113) -> Arrays:
    """California housing: eight features for each of 20,640 districts (600 with version="small"), with prices in dollars, shuffled.

    The columns are those of scikit-learn's data set; their order and form differ from Keras's.
    """
    import numpy

    from pyburn.data import sets

    found = sets.CaliforniaHousing()
    x, y = (numpy.asarray(array, dtype=numpy.float32) for array in (found.data, found.targets))
    order = numpy.random.RandomState(seed).permutation(len(x))[: 600 if version == "small" else None]
    x, y = x[order], y[order] * 100_000
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


mnist = SimpleNamespace(load_data=_mnist)
fashion_mnist = SimpleNamespace(load_data=_fashion_mnist)
cifar10 = SimpleNamespace(load_data=_cifar10)
california_housing = SimpleNamespace(load_data=_california_housing)
__all__ = ["california_housing", "cifar10", "fashion_mnist", "mnist"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"p_vision.datasets has no {name!r} (known: {', '.join(__all__)}); pyburn.data has other sets")
