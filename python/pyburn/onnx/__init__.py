"""ONNX: models of other frameworks as modules and sessions, and models written as ONNX files."""

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
