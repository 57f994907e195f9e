"""torch.utils.tensorboard: a SummaryWriter that writes scalars, text and images with pyburn's own event files."""

from __future__ import annotations

import os
import socket
import time
import warnings
from typing import Any

import pyburn

from ..train import EventWriter

__all__ = ["SummaryWriter"]

_NOT_WRITTEN = {
    "add_audio",
    "add_custom_scalars",
    "add_embedding",
    "add_figure",
    "add_graph",
    "add_histogram",
    "add_mesh",
    "add_onnx_graph",
}
_NOT_WRITTEN |= {"add_pr_curve", "add_video"}


def _number(value: Any) -> float:
    return float(value.item() if hasattr(value, "item") else value)


class SummaryWriter:
    """Writes events to a folder, `runs/<time>_<host>` where none is given. Plots that pyburn does not draw are left out with a warning."""

    def __init__(self, log_dir: Any = None, comment: str = "", *args: Any, **options: Any) -> None:
        self.log_dir = os.fspath(log_dir or os.path.join("runs", time.strftime("%b%d_%H-%M-%S_") + socket.gethostname() + comment))
        os.makedirs(self.log_dir, exist_ok=True)
        self._writer = EventWriter(self.log_dir)
        self._told: set[str] = set()

    def get_logdir(self) -> str:
        return self.log_dir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None, *args: Any) -> None:
        self._writer.scalars({tag: _number(scalar_value)}, int(global_step or 0), walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None, walltime: float | None = None
    ) -> None:
        values = {f"{main_tag}/{tag}": _number(value) for tag, value in tag_scalar_dict.items()}
        self._writer.scalars(values, int(global_step or 0), walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        self._writer.text(tag, text_string, int(global_step or 0))

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], *args: Any, **options: Any) -> None:
        """The settings as a table, and the metrics as scalars."""
        rows = "".join(f"|{name}|{value}|\n" for name, value in hparam_dict.items())
        self._writer.text("hparams", "|setting|value|\n|-|-|\n" + rows)
        self._writer.scalars({tag: _number(value) for tag, value in metric_dict.items()}, 0)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """A picture whose axes are in the order of `dataformats`: numbers from 0 to 1, or bytes."""
        import io

        from ..data.transforms.functional import to_pil_image

        img_tensor = pyburn.as_tensor(img_tensor)
        if dataformats != "CHW":
            img_tensor = img_tensor[None] if dataformats == "HW" else img_tensor.permute(*(dataformats.index(axis) for axis in "CHW"))
        picture, data = to_pil_image(img_tensor.detach()).convert("RGB"), io.BytesIO()
        picture.save(data, "PNG")
        self._writer.image(tag, data.getvalue(), picture.height, picture.width, int(global_step or 0))

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Pictures side by side."""
        from .torchvision.utils import make_grid

        order = [dataformats.index(axis) for axis in "NCHW"]
        self.add_image(tag, make_grid(img_tensor.permute(*order)), global_step, walltime)

    def __getattr__(self, name: str) -> Any:
        if name not in _NOT_WRITTEN:
            raise AttributeError(f"pyburn has nothing that stands for SummaryWriter.{name} (pyburn.compat)")
        if name not in self._told:
            self._told.add(name)
            warnings.warn(f"SummaryWriter.{name} has no effect in pyburn.compat", stacklevel=2)
        return lambda *args, **options: None

    def flush(self) -> None:
        error = self._writer.flush()
        if error is not None:
            raise error

    def close(self) -> None:
        self.flush()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "_writer" in self.__dict__:
            self._writer.flush()
