"""Data: data sets, data loaders, transforms, file readers and named data sets.

Submodules are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._on_demand import on_demand

if TYPE_CHECKING:
    from . import transforms
    from .collate import default_collate, default_collate_fn_map, default_convert
    from .dataset import (
        ChainDataset,
        ConcatDataset,
        Dataset,
        IterableDataset,
        StackDataset,
        Subset,
        TensorDataset,
        random_split,
    )
    from .derived import (
        ComposedDataset,
        InMemDataset,
        MapperDataset,
        PartialDataset,
        SamplerDataset,
        SelectionDataset,
        ShuffledDataset,
        WindowsDataset,
    )
    from .fetching import WorkerInfo, get_worker_info
    from .image_folder import DatasetFolder, ImageFolder, ImageFolderDataset
    from .loader import DataLoader
    from .randomness import numpy_random, python_random
    from .sampler import (
        BatchSampler,
        ClassBalancedSampler,
        DistributedSampler,
        RandomSampler,
        Sampler,
        SequentialSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
    )

_HOMES = {
    "collate": ["default_collate", "default_collate_fn_map", "default_convert"],
    "dataset": [
        "ChainDataset",
        "ConcatDataset",
        "Dataset",
        "IterableDataset",
        "StackDataset",
        "Subset",
        "TensorDataset",
        "random_split",
    ],
    "derived": [
        "ComposedDataset",
        "InMemDataset",
        "MapperDataset",
        "PartialDataset",
        "SamplerDataset",
        "SelectionDataset",
        "ShuffledDataset",
        "WindowsDataset",
    ],
    "fetching": ["WorkerInfo", "get_worker_info"],
    "image_folder": ["DatasetFolder", "ImageFolder", "ImageFolderDataset"],
    "loader": ["DataLoader"],
    "randomness": ["numpy_random", "python_random"],
    "sampler": [
        "BatchSampler",
        "ClassBalancedSampler",
        "DistributedSampler",
        "RandomSampler",
        "Sampler",
        "SequentialSampler",
        "SubsetRandomSampler",
        "WeightedRandomSampler",
    ],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_PACKAGES = ("download", "files", "sets", "text", "transforms")

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ClassBalancedSampler",
    "ComposedDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DatasetFolder",
    "DistributedSampler",
    "ImageFolder",
    "ImageFolderDataset",
    "InMemDataset",
    "IterableDataset",
    "MapperDataset",
    "PartialDataset",
    "RandomSampler",
    "Sampler",
    "SamplerDataset",
    "SelectionDataset",
    "SequentialSampler",
    "ShuffledDataset",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WindowsDataset",
    "WorkerInfo",
    "default_collate",
    "default_collate_fn_map",
    "default_convert",
    "get_worker_info",
    "numpy_random",
    "python_random",
    "random_split",
    "transforms",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, *_PACKAGES, places=_HOME)
