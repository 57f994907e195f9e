"""Named data sets: loaded from `root`, the folder PYBURN_DATA or the cache, else downloaded and verified."""

from .eeg import PhysioNetMotorImagery, SelfPaced1s, TrialSet
from .graphs import MUTAG, PROTEINS, CitationSet, Citeseer, Cora, GraphClasses
from .images import CIFAR10, MNIST, FashionMNIST, ImageSet, Membrane
from .molecules import ESOL, FreeSolv, GDB1k, Lipophilicity, MoleculeSet, Tox21
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
    "ESOL",
    "FashionMNIST",
    "FreeSolv",
    "GDB1k",
    "GraphClasses",
    "ImageSet",
    "Lipophilicity",
    "MNIST",
    "MUTAG",
    "Membrane",
    "MoleculeSet",
    "MovieReviews",
    "PROTEINS",
    "PhysioNetMotorImagery",
    "SelfPaced1s",
    "TableSet",
    "TextSet",
    "TinyShakespeare",
    "Tox21",
    "TrialSet",
]
