"""torch.utils.data.dataloader."""

from ...data.collate import default_collate, default_convert
from ...data.fetching import get_worker_info
from ...data.iteration import CrewIteration as _MultiProcessingDataLoaderIter  # noqa: F401
from ...data.iteration import DirectIteration as _SingleProcessDataLoaderIter  # noqa: F401
from ...data.iteration import Iteration as _BaseDataLoaderIter  # noqa: F401
from ...data.loader import DataLoader

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
