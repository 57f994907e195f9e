"""The order of axes in memory, as PyTorch names it: `x.to(memory_format=pyburn.channels_last)`."""

from __future__ import annotations


class layout:  # noqa: N801  (a name of PyTorch)
    """How elements lie in memory: always strided here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"pyburn.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(layout):  # noqa: N801  (a name of PyTorch)
    """The order of the axes in memory. Without one, pyburn chooses it by itself."""


strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
