"""Named data sets: loaded from `root`, the folder PYBURN_DATA or the cache, else downloaded and verified."""

from .graphs import MUTAG, PROTEINS, CitationSet, Citeseer, Cora, GraphClasses
from .images import CIFAR10, MNIST, FashionMNIST, ImageSet
from .place import DataNotFoundError
from .tables import BreastCancer, CaliforniaHousing, Diabetes, Digits, TableSet
from .texts import AGNews, MovieReviews, TextSet, TinyShakespeare

__all__ = [
    "AGNews",
    "BreastCancer",
    "CIFAR10",
    "CaliforniaHousing",
    "CitationSet",
    "Citeseer",
    "Cora",
    "DataNotFoundError",
    "Diabetes",
    "Digits",
    "FashionMNIST",
    "GraphClasses",
    "ImageSet",
    "MNIST",
    "MUTAG",
    "MovieReviews",
    "PROTEINS",
    "TableSet",
    "TextSet",
    "TinyShakespeare",
]
