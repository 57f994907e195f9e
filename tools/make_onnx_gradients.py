"""Writes tests/golden/onnx_gradients: networks that PyTorch exports to ONNX, with the gradients that PyTorch computes of the same networks.

python tools/make_onnx_gradients.py    (needs torch, onnx and onnxscript)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

TARGET = Path(__file__).resolve().parent.parent / "tests" / "golden" / "onnx_gradients"


class Pictures(nn.Module):
    """Convolutions, norms, pools, a transposed convolution and a resize."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.groups = nn.GroupNorm(2, 8)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)
        self.prelu = nn.PReLU(4)
        self.head = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.hardswish(self.norm(self.conv(x)))
        x = x + nn.functional.silu(self.groups(self.depthwise(nn.functional.max_pool2d(x, 3, 1, 1))))
        x = self.prelu(self.up(x))
        x = nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear")
        return self.head(nn.functional.avg_pool2d(x, 4).mean((2, 3))).log_softmax(1)


class Series(nn.Module):
    """Recurrent layers in both directions, and a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 6, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(12, 4, batch_first=True)
        self.gate = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, _ = self.gru(self.lstm(x)[0])
        return y.cumsum(1) * torch.sigmoid(self.gate(y)) / (1 + y.abs())


class Sentences(nn.Module):
    """Embeddings, attention written out, layer norms, GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(20, 8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.first, self.second = nn.LayerNorm(8), nn.LayerNorm(8)
        self.wide, self.narrow = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids)
        q, k, v = (part.reshape(*x.shape[:2], 2, 4).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2) / 2).masked_fill(torch.ones(x.shape[1], x.shape[1]).tril() == 0, -1e9)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        x = x + self.narrow(nn.functional.gelu(self.wide(self.second(x))))
        return x @ self.tokens.weight.T


def waves(*shape: int) -> torch.Tensor:
    count = int(np.prod(shape))
    return torch.from_numpy(np.sin(np.arange(count) * 0.37 + 0.1).astype(np.float32).reshape(shape))


CASES: dict[str, tuple[type[nn.Module], torch.Tensor]] = {
    "pictures": (Pictures, waves(2, 3, 12, 12)),
    "series": (Series, waves(2, 7, 5)),
    "sentences": (Sentences, torch.tensor([[1, 5, 19, 0, 3], [7, 7, 2, 11, 4]])),
}


def without_notes(path: Path) -> None:
    """Removes what the exporter notes about where each node comes from: large, and full of paths."""
    model = onnx.load(path)
    for part in (model, model.graph, *model.functions):
        del part.metadata_props[:]
        part.doc_string = ""
    for nodes in (model.graph.node, model.graph.value_info, model.graph.initializer, *(f.node for f in model.functions)):
        for node in nodes:
            del node.metadata_props[:]
            node.doc_string = ""
    del model.graph.value_info[:]
    onnx.save(model, path)


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for name, (network, x) in CASES.items():
        torch.manual_seed(0)
        model: Any = network().eval()
        path = TARGET / f"{name}.onnx"
        torch.onnx.export(model, (x,), path, input_names=["x"], output_names=["y"], opset_version=20, external_data=False, optimize=False)
        without_notes(path)
        if x.is_floating_point():
            x.requires_grad_()
        y = model(x)
        (y * waves(*y.shape)).sum().backward()
        arrays = {f"gradient {key}": p.grad.numpy() for key, p in model.named_parameters()}
        if x.grad is not None:
            arrays["gradient of x"] = x.grad.numpy()
        np.savez_compressed(TARGET / f"{name}.npz", x=x.detach().numpy(), y=y.detach().numpy(), **arrays)


if __name__ == "__main__":
    main()
