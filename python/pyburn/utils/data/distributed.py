"""torch.utils.data.distributed's names."""

from ...data.sampler import DistributedSampler

__all__ = ["DistributedSampler"]
