"""The models of training_steps.py, each written once for any framework with PyTorch's names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from models.zoo import eegnet, u_net, vision_model


@dataclasses.dataclass(frozen=True)
class Training:
    """A model, the arguments of its forward pass, and its classes; the target has one label for each row of the output."""

    name: str
    make: Callable[[Any, Any], Any]
    inputs: Callable[[Any], tuple[Any, ...]]
    classes: int
    optimizer: str = "AdamW"
    rows: tuple[int, ...] = ()  # shape of the target


def mlp(torch: Any, vision: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def small_mlp(torch: Any, vision: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def mnist_cnn(torch: Any, vision: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10),
    )  # fmt: skip


def transformer(torch: Any, vision: Any) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(1000, 128)
            layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(128, 10)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.encoder(self.embed(tokens)).mean(1))

    return Classifier()


def gpt2(torch: Any, vision: Any) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, size: int = 256, heads: int = 8) -> None:
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.attend, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
            self.up, self.down, self.dropout = nn.Linear(size, 4 * size), nn.Linear(4 * size, size), nn.Dropout(0.1)

        def split(self, x: Any) -> Any:
            return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

        def forward(self, x: Any) -> Any:
            query, key, value = map(self.split, self.attend(self.norm1(x)).chunk(3, -1))
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.dropout(self.out(mixed.transpose(1, 2).reshape(x.shape)))
            return x + self.dropout(self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh")))

    return nn.Sequential(nn.Embedding(2000, 256), Block(), Block(), nn.LayerNorm(256), nn.Linear(256, 2000))


def lstm(torch: Any, vision: Any) -> Any:
    nn = torch.nn

    class Tagger(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(64, 128, num_layers=2, dropout=0.1, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    return Tagger()


NODES, EDGES = 2708, 10556  # of Cora


def gcn(torch: Any, vision: Any) -> Any:
    nn = torch.nn

    class Network(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.dropout = nn.Linear(256, 32), nn.Linear(32, 10), nn.Dropout(0.5)

        def spread(self, x: Any, source: Any, target: Any, weight: Any) -> Any:
            return torch.zeros_like(x).index_add(0, target, x.index_select(0, source) * weight)

        def forward(self, x: Any, source: Any, target: Any, weight: Any) -> Any:
            x = torch.relu(self.spread(self.first(x), source, target, weight))
            return self.spread(self.second(self.dropout(x)), source, target, weight)

    return Network()


def gat(torch: Any, vision: Any) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, outputs: int, heads: int) -> None:
            super().__init__()
            self.heads, self.project = heads, nn.Linear(inputs, heads * outputs)
            self.from_source, self.to_target = (nn.Parameter(torch.randn(heads, outputs) * 0.1) for _ in range(2))

        def forward(self, x: Any, source: Any, target: Any) -> Any:
            x = self.project(x).reshape(x.shape[0], self.heads, -1)
            score = (x * self.from_source).sum(-1)[source] + (x * self.to_target).sum(-1)[target]
            share = functional.leaky_relu(score, 0.2).clamp(-10, 10).exp()
            total = torch.zeros(x.shape[0], self.heads).index_add(0, target, share)
            share = share / (total[target] + 1e-9)
            return torch.zeros_like(x).index_add(0, target, x[source] * share[:, :, None]).flatten(1)

    class Network(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Attention(256, 8, 4), Attention(32, 10, 1)

        def forward(self, x: Any, source: Any, target: Any, weight: Any) -> Any:
            return self.second(functional.elu(self.first(x, source, target)), source, target)

    return Network()


def images(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.randn(*shape),)


def tokens(count: int, *shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.randint(0, count, shape),)


def graph(torch: Any) -> tuple[Any, ...]:
    ends = [torch.randint(0, NODES, (EDGES,)) for _ in range(2)]
    return torch.rand(NODES, 256), *ends, torch.rand(EDGES, 1)


TRAININGS = [
    Training("small MLP", small_mlp, images(32, 20), 10, "Adam", (32,)),
    Training("MLP", mlp, images(64, 784), 10, "Adam", (64,)),
    Training("MNIST CNN", mnist_cnn, images(64, 1, 28, 28), 10, "SGD", (64,)),
    Training("transformer", transformer, tokens(1000, 16, 64), 10, rows=(16,)),
    Training("GPT-2 block", gpt2, tokens(2000, 4, 128), 2000, rows=(4, 128)),
    Training("LSTM", lstm, images(16, 50, 64), 10, "Adam", (16,)),
    Training("GCN", gcn, graph, 10, "Adam", (NODES,)),
    Training("GAT", gat, graph, 10, "Adam", (NODES,)),
    Training("ResNet-18", vision_model("resnet18", num_classes=10), images(8, 3, 96, 96), 10, "SGD", (8,)),
    Training("MobileNetV3", vision_model("mobilenet_v3_small", num_classes=10), images(8, 3, 96, 96), 10, "SGD", (8,)),
    Training("U-Net", u_net, images(2, 3, 96, 96), 2, rows=(2, 96, 96)),
    Training("EEGNet", eegnet, images(16, 1, 22, 1024), 4, "Adam", (16,)),
]
