"""Helpers under the names that PyTorch users know."""
