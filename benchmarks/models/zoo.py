"""The models that sessions are measured with: each is written once, for any framework with PyTorch's names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    make: Callable[[Any, Any], Any]  # (framework, its collection of vision models) -> model
    shape: tuple[int, ...]  # of one example, without the batch
    batch_axis: int = 0


def tiny_mlp(torch: Any, vision: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def lstm(torch: Any, vision: Any) -> Any:
    class Tagger(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(64, 128, num_layers=2, batch_first=True)
            self.head = torch.nn.Linear(128, 16)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    return Tagger()


def encoder(torch: Any, vision: Any) -> Any:
    """The blocks of BERT base, written out."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, size: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.query, self.key, self.value = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
            self.out, self.up, self.down = nn.Linear(size, size), nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)

        def split(self, x: Any) -> Any:
            return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

        def forward(self, x: Any) -> Any:
            mixed = functional.scaled_dot_product_attention(self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x)))
            x = self.norm1(x + self.out(mixed.transpose(1, 2).reshape(x.shape)))
            return self.norm2(x + self.down(functional.gelu(self.up(x))))

    return nn.Sequential(*[Block(768, 12) for _ in range(12)])


def u_net(torch: Any, vision: Any) -> Any:
    nn = torch.nn

    def double(inputs: int, outputs: int) -> Any:
        layers: list[Any] = []
        for n in (inputs, outputs):
            layers += [nn.Conv2d(n, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            sizes = (16, 32, 64, 128)
            self.down = nn.ModuleList([double(i, o) for i, o in zip((3, *sizes), sizes)])
            self.pool = nn.MaxPool2d(2)
            self.up = nn.ModuleList([nn.ConvTranspose2d(2 * n, n, 2, stride=2) for n in (64, 32, 16)])
            self.join = nn.ModuleList([double(2 * n, n) for n in (64, 32, 16)])
            self.head = nn.Conv2d(16, 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for i, block in enumerate(self.down):
                x = block(self.pool(x) if i else x)
                kept.append(x)
            for up, join, skip in zip(self.up, self.join, kept[-2::-1]):
                x = join(torch.cat([skip, up(x)], 1))
            return self.head(x)

    return UNet()


def gpt2_blocks(torch: Any, vision: Any) -> Any:
    """Blocks of GPT-2 as its authors and exporters write them: attention, GELU and layer norm in elementary operations."""
    nn = torch.nn

    class Norm(nn.Module):  # type: ignore[name-defined]
        def __init__(self, size: int) -> None:
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

        def forward(self, x: Any) -> Any:
            centred = x - x.mean(-1, keepdim=True)
            return self.weight * (centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)) + self.bias

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, size: int, heads: int, tokens: int) -> None:
            super().__init__()
            self.heads, self.size = heads, size
            self.norm1, self.norm2 = Norm(size), Norm(size)
            self.attend, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
            self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
            self.register_buffer("mask", torch.ones(tokens, tokens).tril().reshape(1, 1, tokens, tokens))

        def split(self, x: Any) -> Any:
            return x.reshape(x.shape[0], x.shape[1], self.heads, self.size // self.heads).transpose(1, 2)

        def forward(self, x: Any) -> Any:
            query, key, value = map(self.split, self.attend(self.norm1(x)).split(self.size, 2))
            scores = query @ key.transpose(-2, -1) / (self.size // self.heads) ** 0.5
            shares = torch.softmax(scores.masked_fill(self.mask == 0, float("-inf")), -1)
            x = x + self.out((shares @ value).transpose(1, 2).reshape(x.shape))
            h = self.up(self.norm2(x))
            h = 0.5 * h * (1 + torch.tanh((2 / 3.141592653589793) ** 0.5 * (h + 0.044715 * h * h * h)))
            return x + self.down(h)

    return nn.Sequential(*[Block(768, 12, 128) for _ in range(4)])


def gru(torch: Any, vision: Any) -> Any:
    class Tagger(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.gru = torch.nn.GRU(64, 128, num_layers=2, batch_first=True, bidirectional=True)
            self.head = torch.nn.Linear(256, 16)

        def forward(self, x: Any) -> Any:
            return self.head(self.gru(x)[0])

    return Tagger()


def eegnet(torch: Any, vision: Any) -> Any:
    """EEGNet: convolutions along time, over channels, depthwise and separable."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, (1, 64), padding=(0, 32), bias=False),
        nn.BatchNorm2d(8),
        nn.Conv2d(8, 16, (22, 1), groups=8, bias=False),
        nn.BatchNorm2d(16),
        nn.ELU(),
        nn.AvgPool2d((1, 4)),
        nn.Conv2d(16, 16, (1, 16), padding=(0, 8), groups=16, bias=False),
        nn.Conv2d(16, 16, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ELU(),
        nn.AvgPool2d((1, 8)),
        nn.Flatten(),
        nn.Linear(16 * 32, 4),
    )


def vision_model(name: str, **options: Any) -> Callable[[Any, Any], Any]:
    return lambda torch, vision: getattr(vision, name)(weights=None, **options)


IMAGE = (3, 224, 224)
MODELS = [
    Model("tiny MLP", tiny_mlp, (32,)),
    Model("LSTM", lstm, (50, 64)),
    Model("BERT-size encoder", encoder, (128, 768)),
    Model("ViT-B/16", vision_model("vit_b_16"), IMAGE),
    Model("U-Net", u_net, (3, 256, 256)),
    Model("ResNet-18", vision_model("resnet18"), IMAGE),
    Model("ResNet-50", vision_model("resnet50"), IMAGE),
    Model("MobileNetV3-small", vision_model("mobilenet_v3_small"), IMAGE),
    Model("EfficientNet-B0", vision_model("efficientnet_b0"), IMAGE),
    Model("GoogLeNet", vision_model("googlenet", aux_logits=False, init_weights=False), IMAGE),
]
# Of the same kind; measured on request, so that no pass or kernel is made for the models above only.
OTHERS = [
    Model("GPT-2 blocks", gpt2_blocks, (128, 768)),
    Model("GRU", gru, (50, 64)),
    Model("EEGNet", eegnet, (1, 22, 1024)),
    Model("DenseNet-121", vision_model("densenet121"), IMAGE),
    Model("ShuffleNetV2", vision_model("shufflenet_v2_x1_0"), IMAGE),
    Model("RegNetY-400MF", vision_model("regnet_y_400mf"), IMAGE),
    Model("ConvNeXt-T", vision_model("convnext_tiny"), IMAGE),
    Model("Swin-T", vision_model("swin_t"), IMAGE),
    Model("SqueezeNet", vision_model("squeezenet1_1"), IMAGE),
    Model("MobileNetV2", vision_model("mobilenet_v2"), IMAGE),
    Model("VGG-11", vision_model("vgg11"), IMAGE),
]
