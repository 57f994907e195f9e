"""Memory formats and layouts with PyTorch's names: `x.to(memory_format=pyburn.channels_last)`."""

from __future__ import annotations


class layout:  # noqa: N801  (a name of PyTorch)
    """The layout of a tensor; always strided."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"pyburn.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(layout):  # noqa: N801  (a name of PyTorch)
    """The memory order of the dimensions. By default pyburn chooses it.

    >>> pyburn.channels_last
    pyburn.channels_last
    """


strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
