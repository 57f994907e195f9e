"""Keras's former module of ResNet50."""

from .resnet import ResNet50, preprocess_input

__all__ = ["ResNet50", "preprocess_input"]
