"""torch.utils.data.dataloader's names."""

from ...data.collate import default_collate, default_convert
from ...data.fetching import get_worker_info
from ...data.loader import DataLoader

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
