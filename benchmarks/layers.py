"""Single layers of image models at batch 1, on one thread: pyburn and ONNX Runtime, in CPU time, which a busy machine disturbs least.

python benchmarks/layers.py [filter] [--peers path/to/python]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Layer = dict[str, Any]
ROUNDS, SECONDS = 7, 0.04  # of each layer, and of each round


def pool(kind: str, channels: int, size: int, kernel: int, stride: int, padding: int) -> Layer:
    name = f"{kind} pool {kernel}x{kernel}/{stride} {channels}@{size}"
    return {"name": name, "kind": kind, "x": (1, channels, size, size), "kernel": kernel, "stride": stride, "padding": padding}


def conv(c: int, o: int, size: int, kernel: int, stride: int = 1, groups: int = 1) -> Layer:
    name = f"{'depthwise' if groups > 1 else 'conv'} {kernel}x{kernel}/{stride} {c}->{o}@{size}"
    steps = {"stride": stride, "padding": kernel // 2, "groups": groups}
    return {"name": name, "kind": "conv", "x": (1, c, size, size), "w": (o, c // groups, kernel, kernel), **steps}


def transposed(c: int, o: int, size: int) -> Layer:
    name = f"transposed 2x2/2 {c}->{o}@{size}"
    return {"name": name, "kind": "transposed", "x": (1, c, size, size), "w": (c, o, 2, 2), "stride": 2, "padding": 0, "groups": 1}


POINTWISE = {  # size of the plane: channels in and out
    112: ((32, 16), (16, 96)),
    56: ((96, 24), (24, 144), (64, 64), (64, 256), (256, 64)),
    28: ((24, 88), (88, 24), (192, 64), (192, 16), (144, 40), (40, 240)),
    14: ((96, 40), (40, 240), (240, 40), (48, 288), (240, 80), (80, 480), (480, 112), (480, 192), (512, 160), (256, 1024)),
    7: ((288, 96), (96, 576), (576, 96), (672, 192), (192, 1152), (1152, 320), (832, 48), (832, 384), (320, 1280)),
}
DEPTHWISE = (  # channels, size, kernel, stride
    (16, 112, 3, 2),
    (72, 56, 3, 2),
    (88, 28, 3, 1),
    (96, 28, 5, 2),
    (240, 14, 5, 1),
    (288, 14, 5, 2),
    (576, 7, 5, 1),
    (32, 112, 3, 1),
    (96, 112, 3, 2),
    (144, 56, 3, 1),
    (144, 56, 5, 2),
    (240, 28, 5, 1),
    (480, 14, 3, 1),
    (672, 14, 5, 1),
    (1152, 7, 5, 1),
    (1152, 7, 3, 1),
)
SQUARE = (  # channels in and out, size
    (3, 16, 256),
    (16, 16, 256),
    (32, 16, 256),
    (16, 32, 128),
    (32, 32, 128),
    (64, 64, 64),
    (96, 128, 28),
    (160, 320, 14),
    (160, 320, 7),
    (16, 32, 28),
)
POOLS = (  # kind, channels, size, kernel, stride, padding
    ("max", 192, 28, 3, 1, 1),
    ("max", 256, 28, 3, 1, 1),
    ("max", 512, 14, 3, 1, 1),
    ("max", 832, 7, 3, 1, 1),
    ("max", 64, 112, 3, 2, 1),
    ("max", 192, 56, 3, 2, 1),
    ("max", 480, 28, 3, 2, 1),
    ("max", 832, 14, 2, 2, 0),
    ("max", 32, 256, 2, 2, 0),
    ("avg", 128, 56, 2, 2, 0),
    ("avg", 192, 28, 3, 1, 1),
    ("avg", 1024, 7, 7, 1, 0),
    ("avg", 72, 28, 28, 1, 0),
)
LAYERS: list[Layer] = [
    *(pool(*p) for p in POOLS),
    *(conv(c, o, size, 1) for size, pairs in POINTWISE.items() for c, o in pairs),
    *(conv(c, c, size, k, s, c) for c, size, k, s in DEPTHWISE),
    *(conv(c, o, size, 3) for c, o, size in SQUARE),
    *(transposed(*t) for t in ((128, 64, 32), (64, 32, 64), (32, 16, 128))),
]


def work(layer: Layer) -> int:
    """Multiply-adds count as two operations; for pools, the elements of all windows."""
    _, _, height, _ = layer["x"]
    if layer["kind"] == "transposed":
        return int(2 * np.prod(layer["w"]) * height**2)
    kernel = layer["w"][2] if "w" in layer else layer["kernel"]
    out = ((height + 2 * layer["padding"] - kernel) // layer["stride"] + 1) ** 2
    return int(2 * np.prod(layer["w"]) * out) if "w" in layer else int(layer["x"][1] * out * kernel**2)


def with_pyburn(layer: Layer) -> Callable[[], object]:
    import pyburn as pb

    pb.set_num_threads(1)
    f = pb.nn.functional
    x = pb.randn(*layer["x"])
    step, border = layer["stride"], layer["padding"]
    if "w" not in layer:
        run = f.max_pool2d if layer["kind"] == "max" else f.avg_pool2d
        return lambda: run(x, layer["kernel"], step, border)
    w = pb.randn(*layer["w"])
    if layer["kind"] == "transposed":
        return lambda: f.conv_transpose2d(x, w, None, step, border)
    return lambda: f.conv2d(x, w, None, step, border, 1, layer["groups"])


def with_onnx_runtime(layer: Layer) -> Callable[[], object]:
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    options: dict[str, Any] = {"strides": [layer["stride"]] * 2, "pads": [layer["padding"]] * 4}
    weights = []
    if "w" in layer:
        weights = [numpy_helper.from_array(np.random.randn(*layer["w"]).astype(np.float32), "w")]
        options["group"] = layer["groups"]
    else:
        options |= {"kernel_shape": [layer["kernel"]] * 2} | ({"count_include_pad": 1} if layer["kind"] == "avg" else {})
    kind = {"conv": "Conv", "transposed": "ConvTranspose", "max": "MaxPool", "avg": "AveragePool"}[layer["kind"]]
    node = helper.make_node(kind, ["x", "w"] if weights else ["x"], ["y"], **options)
    x_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, layer["x"])
    y_info = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "layer", [x_info], [y_info], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session_options = ort.SessionOptions()
    session_options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), session_options, providers=["CPUExecutionProvider"])
    x = np.random.randn(*layer["x"]).astype(np.float32)
    return lambda: session.run(None, {"x": x})


def seconds(run: Callable[[], object]) -> float:
    """The least time per call among several rounds."""
    run()
    times = []
    for _ in range(ROUNDS):
        calls, start = 0, time.thread_time()
        while (spent := time.thread_time() - start) < SECONDS:
            run()
            calls += 1
        times.append(spent / calls)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--peers", help="a Python with onnx and onnxruntime")
    parser.add_argument("--onnx-runtime", action="store_true", help="measure ONNX Runtime in this process, print JSON")
    args = parser.parse_args()
    chosen = [layer for layer in LAYERS if args.filter in layer["name"]]
    if args.onnx_runtime:
        print(json.dumps({layer["name"]: seconds(with_onnx_runtime(layer)) for layer in chosen}))
        return
    peer: dict[str, float] = {}
    if args.peers:
        peer = json.loads(subprocess.check_output([args.peers, __file__, args.filter, "--onnx-runtime"]))
    for layer in chosen:
        mine = seconds(with_pyburn(layer))
        line = f"{layer['name']:32} {1e6 * mine:8.1f} us {work(layer) / mine / 1e9:7.1f} G/s"
        if theirs := peer.get(layer["name"]):
            line += f"   ONNX Runtime {1e6 * theirs:8.1f} us {work(layer) / theirs / 1e9:7.1f} G/s   {mine / theirs:5.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
