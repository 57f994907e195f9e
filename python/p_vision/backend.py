"""`p_vision.backend` is the enumeration of backends, `pyburn.BackendKind`, with what Keras's programs ask their `backend` for.

>>> from p_vision import backend
>>> backend.resolve(backend.NDARRAY)
device('autodiff(ndarray)')
"""

from __future__ import annotations

import sys

from pyburn import BackendKind as backend

from . import config, utils
from .devices import resolve

# Keras's module `backend` has functions; an enum cannot be subclassed, so they are attached to the enum.
_FUNCTIONS = {name: getattr(config, name) for name in config.__all__} | {
    name: getattr(utils, name) for name in ("clear_session", "is_keras_tensor", "standardize_dtype")
}
for _name, _function in {"resolve": resolve, **_FUNCTIONS}.items():
    setattr(backend, _name, staticmethod(_function))
sys.modules[__name__] = backend  # type: ignore[assignment]
