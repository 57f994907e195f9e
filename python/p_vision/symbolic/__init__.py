"""Symbolic graphs of models: symbols, nested structures, masks and recorded calls."""
