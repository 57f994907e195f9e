"""torch.utils.tensorboard: SummaryWriter, on pyburn's own event files. TensorBoard and pyburn's dashboard read them."""

from __future__ import annotations

import io
import math
import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..train import EventWriter
from ..train.metrics.metric import array
from ..train.run.plain_values import number
from ..train.run.protobuf import pack
from ..train.run.samples import png
from .graph_nodes import node_messages
from .torchvision.utils import tiled

__all__ = ["SummaryWriter"]

_MOST_THRESHOLDS = 127
# The default bins of TensorFlow: ten per cent apart, from 1e-12 to 1e20, on both sides of zero.
_POSITIVE = 1e-12 * 1.1 ** np.arange(774)
_TENSORFLOW_BINS = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])


class SummaryWriter:
    """Writes events to a folder.

    Args:
        log_dir: The folder; by default `runs/<time>_<host><comment>`.
        comment: A suffix of the default folder.
        purge_step: The step from which TensorBoard discards events of an earlier writer.
        max_queue: The number of events after which they are written to the file.
        flush_secs: The time after which events are written to the file.
        filename_suffix: Has no effect.

    >>> with SummaryWriter("runs/first") as writer:
    ...     writer.add_scalar("loss", 0.5, global_step=1)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        self.log_dir = os.fspath(log_dir or os.path.join("runs", time.strftime("%b%d_%H-%M-%S_") + socket.gethostname() + comment))
        os.makedirs(self.log_dir, exist_ok=True)
        self._events = EventWriter(self.log_dir, from_step=purge_step)
        self._most, self._seconds, self._waiting, self._flushed = max_queue, flush_secs, 0, time.monotonic()
        self._layout: dict[str, dict[str, Any]] = {}

    def _writer(self) -> EventWriter:
        self._waiting += 1
        if self._waiting > self._most or time.monotonic() - self._flushed > self._seconds:
            self.flush()
        return self._events

    def get_logdir(self) -> str:
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        self._writer().scalars({tag: number(scalar_value)}, int(global_step or 0), walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None, walltime: float | None = None
    ) -> None:
        values = {f"{main_tag}/{tag}": number(value) for tag, value in tag_scalar_dict.items()}
        self._writer().scalars(values, int(global_step or 0), walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        self._writer().text(tag, text_string, int(global_step or 0), walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        self._writer().tensor(tag, array(tensor), "tensor", step=int(global_step or 0), when=walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Adds a histogram.

        Args:
            tag: The name.
            values: The values.
            global_step: The step.
            bins: Bins as for numpy.histogram, or "tensorflow" for those of TensorFlow.
            walltime: The time in seconds since 1970; by default now.
            max_bins: Ignored.
        """
        wanted = _TENSORFLOW_BINS if isinstance(bins, str) and bins == "tensorflow" else bins
        self._writer().histogram(tag, values, int(global_step or 0), walltime, bins=wanted)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """Adds an image.

        Args:
            tag: The name.
            img_tensor: Floats from 0 to 1, or uint8.
            global_step: The step.
            walltime: The time in seconds since 1970; by default now.
            dataformats: The order of the dimensions, such as "CHW", "HWC" or "HW".
        """
        order = [dataformats.upper().index(axis) for axis in "HWC" if axis in dataformats.upper()]
        self._writer().image(tag, png(array(img_tensor).transpose(order)), int(global_step or 0), walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Adds several images as one, at most eight in a row.

        Args:
            tag: The name.
            img_tensor: Floats from 0 to 1, or uint8.
            global_step: The step.
            walltime: The time in seconds since 1970; by default now.
            dataformats: The order of the dimensions.
        """
        images = array(img_tensor).transpose([dataformats.upper().index(axis) for axis in "NHWC"])
        self._writer().image(tag, png(tiled(images, min(8, len(images)))), int(global_step or 0), walltime)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: int | None = None, walltime: float | None = None, rescale: float = 1,
        dataformats: str = "CHW", labels: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Adds an image with boxes drawn into it.

        Args:
            tag: The name.
            img_tensor: Floats from 0 to 1, or uint8.
            box_tensor: Boxes (N, 4) as (left, top, right, bottom).
            global_step: The step.
            walltime: The time in seconds since 1970; by default now.
            rescale: The factor by which the image is resized.
            dataformats: The order of the dimensions.
            labels: A label per box.
        """
        from PIL import Image, ImageDraw

        order = [dataformats.upper().index(axis) for axis in "HWC"]
        picture = Image.open(io.BytesIO(png(array(img_tensor).transpose(order)))).convert("RGB")
        picture = picture.resize((int(picture.width * rescale), int(picture.height * rescale)))
        pen = ImageDraw.Draw(picture)
        for index, box in enumerate(array(box_tensor).reshape(-1, 4) * rescale):
            pen.rectangle([float(v) for v in box], outline=(255, 0, 0))
            if labels is not None:
                pen.text((float(box[0]) + 2, float(box[1]) + 1), str(labels[index]), fill=(255, 0, 0))
        self.add_image(tag, np.asarray(picture), global_step, walltime, "HWC")

    def add_figure(self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None) -> None:
        """Adds a figure of matplotlib as an image. The figures of a list get the tags `tag/0`, `tag/1` ...

        Args:
            tag: The name.
            figure: The figure, or a list of figures.
            global_step: The step.
            close: Whether to close the figure.
            walltime: The time in seconds since 1970; by default now.
        """
        figures = {f"{tag}/{i}": one for i, one in enumerate(figure)} if isinstance(figure, (list, tuple)) else {tag: figure}
        for name, one in figures.items():
            data = io.BytesIO()
            one.savefig(data, format="png")
            self._writer().image(name, data.getvalue(), int(global_step or 0), walltime)
            if close and hasattr(one, "number"):  # made by pyplot, which keeps it
                import matplotlib.pyplot  # type: ignore[import-not-found, unused-ignore]

                matplotlib.pyplot.close(one)

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: int | None = None, sample_rate: int = 44100, walltime: float | None = None
    ) -> None:
        """Adds audio.

        Args:
            tag: The name.
            snd_tensor: Samples from -1 to 1, (1, frames) or (frames,).
            global_step: The step.
            sample_rate: The number of samples per second.
            walltime: The time in seconds since 1970; by default now.
        """
        self._writer().audio(tag, snd_tensor, sample_rate, int(global_step or 0), walltime)

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Adds the operations of a model.

        Args:
            model: The model.
            input_to_model: An example input, or a tuple of them.
            verbose: Whether to print the graph.
            use_strict_trace: Ignored.

        Raises:
            ValueError: There is no example input.
        """
        from ..inference import capture

        if input_to_model is None:
            raise ValueError("[add_graph] input_to_model must be an example input of the model")
        examples = input_to_model if isinstance(input_to_model, (list, tuple)) else (input_to_model,)
        graph = capture(model, *examples)
        if verbose:
            print(graph)
        self._writer().graph(node_messages(str(graph)))

    def add_embedding(
        self, mat: Any, metadata: Sequence[Any] | None = None, label_img: Any = None, global_step: int | None = None, tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Adds vectors for the projector.

        Args:
            mat: The vectors (N, D).
            metadata: A label per vector, or a list of labels with metadata_header.
            label_img: An image per vector, (N, C, H, W).
            global_step: The step.
            tag: The name.
            metadata_header: The names of the columns of metadata.

        Raises:
            ValueError: mat is not a matrix, or the number of labels or images differs.
        """
        vectors, step = array(mat), f"{global_step or 0:05d}"
        if vectors.ndim != 2:
            raise ValueError(f"[add_embedding] mat must have shape (N, D): got {vectors.shape}")
        below = f"{step}/{tag}"
        folder = Path(self.log_dir, below)
        folder.mkdir(parents=True, exist_ok=True)
        _tsv(folder / "tensors.tsv", vectors.tolist())
        lines = [f'tensor_name: "{tag}:{step}"', f'tensor_path: "{below}/tensors.tsv"']
        if metadata is not None:
            if len(metadata) != len(vectors):
                raise ValueError(f"[add_embedding] expected {len(vectors)} labels: got {len(metadata)}")
            rows = [row if metadata_header and isinstance(row, (list, tuple)) else [row] for row in metadata]
            _tsv(folder / "metadata.tsv", [*([metadata_header] if metadata_header else []), *rows])
            lines.append(f'metadata_path: "{below}/metadata.tsv"')
        if label_img is not None:
            images = array(label_img).transpose(0, 2, 3, 1)
            if len(images) != len(vectors):
                raise ValueError(f"[add_embedding] expected {len(vectors)} images: got {len(images)}")
            side = math.ceil(math.sqrt(len(images)))
            (folder / "sprite.png").write_bytes(png(tiled(images, side, side, padding=0)))
            size = f"single_image_dim: {images.shape[2]} single_image_dim: {images.shape[1]}"
            lines.append(f'sprite {{ image_path: "{below}/sprite.png" {size} }}')
        with open(Path(self.log_dir, "projector_config.pbtxt"), "a", encoding="utf-8") as file:
            file.write("embeddings {\n" + "\n".join(lines) + "\n}\n")

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None, run_name: str | None = None, global_step: int | None = None,
    ) -> None:  # fmt: skip
        """Adds hyperparameters and their results, in a subfolder.

        Args:
            hparam_dict: The hyperparameters: numbers, bools and strings.
            metric_dict: The results.
            hparam_domain_discrete: The possible values of hyperparameters.
            run_name: The name of the subfolder; by default the time.
            global_step: The step.
        """
        settings = {name: v if isinstance(v, (bool, str)) else number(v) for name, v in hparam_dict.items()}
        domains = hparam_domain_discrete or {}
        infos = [
            {1: name, 4: 2 if isinstance(v, bool) else 1 if isinstance(v, str) else 3,
             5: {1: [_value(one) for one in domains[name]]} if name in domains else None}
            for name, v in settings.items()
        ]  # fmt: skip
        parts: dict[str, dict[int, Any]] = {
            "experiment": {2: {4: infos, 5: [{1: {2: tag}} for tag in metric_dict]}},
            "session_start_info": {3: {1: [{1: name, 2: _value(v)} for name, v in settings.items()]}},
            "session_end_info": {4: {1: 1}},
        }
        with SummaryWriter(os.path.join(self.log_dir, run_name or str(time.time()))) as writer:
            for part, content in parts.items():
                writer._writer().tensor(f"_hparams_/{part}", None, "hparams", content)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: int | None = None, num_thresholds: int = _MOST_THRESHOLDS,
        weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Adds a precision-recall curve of a binary classifier.

        Args:
            tag: The name.
            labels: The labels, 0 or 1.
            predictions: The scores from 0 to 1.
            global_step: The step.
            num_thresholds: The number of thresholds, at most 127.
            weights: A weight per sample.
            walltime: The time in seconds since 1970; by default now.
        """
        count = min(num_thresholds, _MOST_THRESHOLDS)
        truth, scores = array(labels).reshape(-1).astype(float), array(predictions).reshape(-1).astype(float)
        buckets, share = np.floor(scores * (count - 1)), 1.0 if weights is None else array(weights).reshape(-1)
        tp, fp = (np.histogram(buckets, count, (0, count - 1), weights=kind * share)[0][::-1].cumsum()[::-1] for kind in (truth, 1 - truth))
        tn, fn = fp[0] - fp, tp[0] - tp
        precision, recall = tp / np.maximum(tp + fp, 1e-7), tp / np.maximum(tp + fn, 1e-7)
        self.add_pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, global_step, count, walltime=walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any, false_negative_counts: Any,
        precision: Any, recall: Any, global_step: int | None = None, num_thresholds: int = _MOST_THRESHOLDS, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        rows = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall)
        table = np.stack([array(row).reshape(-1) for row in rows])
        self._writer().tensor(tag, table, "pr_curves", {1: 0, 2: table.shape[1]}, step=int(global_step or 0), when=walltime)

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Adds charts of several scalars each.

        Args:
            layout: {category: {title: ["Multiline", tags] or ["Margin", [value, lower, upper]]}}.

        Raises:
            ValueError: A chart is of another kind.
        """
        categories = []
        for category, charts in layout.items():
            drawn = []
            for title, (kind, tags) in charts.items():
                if kind not in ("Multiline", "Margin"):
                    raise ValueError(f"[add_custom_scalars] a chart must be 'Multiline' or 'Margin': got {kind!r}")
                margin = {1: {1: tags[0], 2: tags[1], 3: tags[2]}} if kind == "Margin" else None
                drawn.append({1: title, 2: {1: list(tags)} if margin is None else None, 3: margin})
            categories.append({1: category, 2: drawn})
        self._writer().tensor("custom_scalars__config__", pack({2: categories}), "custom_scalars")

    def add_custom_scalars_multilinechart(self, tags: Sequence[str], category: str = "default", title: str = "untitled") -> None:
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: Sequence[str], category: str = "default", title: str = "untitled") -> None:
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"pyburn's SummaryWriter has no {name}")

    def flush(self) -> None:
        self._waiting, self._flushed = 0, time.monotonic()
        error = self._events.flush()
        if error is not None:
            raise error

    def close(self) -> None:
        self.flush()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "_events" in self.__dict__:
            self._events.flush()


def _value(value: Any) -> dict[int, Any]:
    """A google.protobuf.Value."""
    return {4: value} if isinstance(value, bool) else {3: value} if isinstance(value, str) else {2: float(value)}


def _tsv(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    lines = ["\t".join(re.sub(r"[\t\n\r]", " ", str(cell)) for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
