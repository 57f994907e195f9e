"""Biomedical images: a segmentation data set, U-Net, random crops for training and sliding windows for prediction."""

from .models import UNet
from .sets import Membrane
from .windows import RandomCrops, sliding_window

__all__ = ["Membrane", "RandomCrops", "UNet", "sliding_window"]
