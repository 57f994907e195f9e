"""Drawings of models: symbols that stand for tensors, nested structures of them, masks, and what is noted when a layer is called."""
