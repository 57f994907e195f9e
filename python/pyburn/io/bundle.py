"""The .pyburn format: the configuration, tensors and metadata of a model, and any other bytes, each with a checksum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core
from .._core import Tensor
from .file_types import Source, Target, readable, writable
from .native import Snapshot
from .tensor_file import TensorFile


class Bundle:
    """An open .pyburn file.

    Args:
        source: A path, bytes, or an object with a method `read`.
        mmap: Whether to memory-map the file.
        verify: Whether to verify checksums.

    Attributes:
        config: The configuration, as parsed JSON.
        metadata: The metadata.
        tensors: The tensors, which are read on access.
        sections: The other sections, as bytes.

    >>> pyburn.io.Bundle.save("model.pyburn", {"w": pyburn.ones(2)}, config={"hidden": 2}, metadata={"note": "first"})
    >>> bundle = pyburn.io.Bundle("model.pyburn")
    >>> bundle.config, bundle.metadata, bundle.tensors["w"].load()
    ({'hidden': 2}, {'note': 'first'}, tensor([1., 1.]))
    """

    def __init__(self, source: Source, *, mmap: bool = False, verify: bool = True) -> None:
        import json  # imported here since it is slow to import

        config, self.metadata, snapshots, self.sections = _core._io.read_bundle(readable(source), mmap, verify)
        self.config: Any = json.loads(config) if config else None
        self.tensors = TensorFile(snapshots, self.metadata, "pyburn")

    @staticmethod
    def save(
        file: Target,
        tensors: Mapping[str, Tensor] | Iterable[Snapshot] = (),
        *,
        config: Any = None,
        metadata: dict[str, str] | None = None,
        sections: Mapping[str, bytes] | None = None,
    ) -> None:
        """Writes a .pyburn file.

        Args:
            file: A path or an object with a method `write`.
            tensors: The tensors by name, or snapshots.
            config: A Config or any JSON-compatible value.
            metadata: Text entries.
            sections: Other sections, as bytes.
        """
        import json

        snapshots = _core._io.snapshots_of(dict(tensors)) if isinstance(tensors, Mapping) else list(tensors)
        text = "" if config is None else json.dumps(config.to_dict() if hasattr(config, "to_dict") else config)
        _core._io.write_bundle(writable(file), snapshots, text, metadata or {}, dict(sections or {}))
