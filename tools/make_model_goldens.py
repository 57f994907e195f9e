"""Makes tests/golden/models: names and shapes of the parameters of torchvision's and transformers' models, what PyTorch's models answer
for weights that tests/python/model_cases.py fills in, and what ONNX Runtime answers for Silero VAD.

    python tools/make_model_goldens.py [--torch PYTHON] [CASE ...]

PYTHON is an interpreter that has torch, torchvision, transformers, onnx and onnxruntime, if this one has not; the tests need none. With
names of cases, only these are recorded anew. PYBURN_DATA names the folder with the Silero files; without it the recorded answers stay as
they are.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "models"
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "examples" / "models"), str(ROOT / "examples" / "silero")]


def write(name: str, content: Any) -> None:
    """One line an entry, so that differences can be read; the time is left out of the archive, so that equal content is an equal file."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in content.items())
    GOLDEN.mkdir(parents=True, exist_ok=True)
    (GOLDEN / name).write_bytes(gzip.compress(f"{{\n{lines}\n}}\n".encode(), mtime=0))
    print(f"{name}: {len(content)} entries, {(GOLDEN / name).stat().st_size:,} bytes")


def shapes(model: Any) -> list[list[Any]]:
    return [[name, list(tensor.shape)] for name, tensor in model.state_dict().items()]


def own_source_on_torch() -> None:
    """Our own files say `pyburn` and mean torch from here on: the same program on the other framework."""
    import torch
    import torch.nn.utils.parametrize  # type: ignore[import-not-found]

    sys.modules["pyburn"] = torch
    for name in ("nn", "nn.functional", "nn.utils", "nn.utils.parametrize"):
        sys.modules[f"pyburn.{name}"] = sys.modules[f"torch.{name}"]


def from_own_source(source: str, builder: str) -> Any:
    path = ROOT / ("python" if "/" in source else "examples/models") / source
    package = path.parent.name if "/" in source else ""
    if package and package not in sys.modules:  # a package by itself, without the __init__ that loads the rest
        spec = importlib.util.spec_from_loader(package, loader=None, is_package=True)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        module.__path__ = [str(path.parent)]
        sys.modules[package] = module
    return getattr(importlib.import_module(f"{package}.{path.stem}" if package else path.stem), builder)


def build(case: Any) -> Any:
    if case.source == "torchvision":
        import torchvision  # type: ignore[import-not-found]

        quiet = {"init_weights": False} if case.builder in ("googlenet", "inception_v3") else {}
        return getattr(torchvision.models, case.builder)(**quiet, **case.options)
    if case.source == "transformers":
        import transformers  # type: ignore[import-not-found]

        config = {"GPT2LMHeadModel": transformers.GPT2Config, "BertModel": transformers.BertConfig}[case.builder]
        return getattr(transformers, case.builder)(config(**case.reference))
    return from_own_source(case.source, case.builder)(**case.options)


def answer(case: Any, model: Any, inputs: list[Any]) -> Any:
    if case.source == "transformers":
        result = model(inputs[0], attention_mask=inputs[1]) if len(inputs) > 1 else model(inputs[0])
        return result.logits if case.builder == "GPT2LMHeadModel" else result.pooler_output
    return model(*inputs)


def record(case: Any) -> dict[str, Any]:
    import torch
    from model_cases import labels, loss, sampled, weight  # type: ignore[import-not-found]

    model = build(case)
    state = {name: torch.from_numpy(weight(name, tensor.shape).copy()) for name, tensor in model.state_dict().items()}
    if case.builder == "GPT2LMHeadModel":
        state["lm_head.weight"] = state["transformer.wte.weight"]
    model.load_state_dict(state)
    inputs = [torch.from_numpy(x) for x in case.inputs]
    with torch.no_grad():
        output = answer(case, model.eval(), inputs)
        other = answer(case, model, [-inputs[0] if inputs[0].is_floating_point() else inputs[0].flip(-1), *inputs[1:]])
    scale = output.abs().max().item()
    assert (output - other).abs().max().item() > 0.03 * scale, "an output that hardly depends on the input proves nothing"
    found: dict[str, Any] = {"state": shapes(model), "shape": list(output.shape), "scale": scale, "output": sampled(output.numpy())}
    if case.builder == "GPT2LMHeadModel":
        found["generated"] = model.generate(
            inputs[0], attention_mask=torch.ones_like(inputs[0]), max_new_tokens=6, do_sample=False, eos_token_id=None, pad_token_id=0
        ).tolist()
    if case.train:
        optimizer = torch.optim.SGD(model.train().parameters(), lr=0.01, momentum=0.9)
        target = torch.from_numpy(labels(case, output.shape[-1]))
        before = loss(model(*inputs), target, torch.nn.functional)
        before.backward()
        found["loss"] = before.item()
        found["gradients"] = {name: p.grad.double().norm().item() for name, p in model.named_parameters()}
        optimizer.step()
        found["next_loss"] = loss(model(*inputs), target, torch.nn.functional).item()
    return found


def silero(folder: Path) -> dict[str, Any]:
    """The ONNX file as it is, and with the weights of the safetensors file (they are of different releases), run on the recording."""
    import numpy as np
    import onnx  # type: ignore[import-not-found]
    from safetensors.numpy import load_file  # type: ignore[import-not-found]
    from silero_weights import NAMES  # type: ignore[import-not-found]

    model = onnx.load(folder / "silero_vad_op18_ifless.onnx")
    weights = load_file(folder / "silero_vad_16k.safetensors")
    original = listen(model, folder)
    for tensor in model.graph.initializer:
        for ours, theirs in NAMES.items():
            if tensor.name == theirs:
                tensor.CopyFrom(onnx.numpy_helper.from_array(weights[ours], tensor.name))
    probabilities = listen(model, folder)
    print(f"the two releases differ by up to {np.abs(original - probabilities).max():.2f}")
    return {key: [round(float(p), 6) for p in found] for key, found in (("probabilities", probabilities), ("onnx", original))}


def listen(model: Any, folder: Path) -> Any:
    """The probabilities of the chunks of the recording, in ONNX Runtime."""
    import numpy as np
    import onnxruntime  # type: ignore[import-not-found]

    with wave.open(str(folder / "silero_test.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
    session = onnxruntime.InferenceSession(model.SerializeToString())
    samples = np.pad(samples, (64, -len(samples) % 512))  # the context before the first chunk is silence
    state, found = np.zeros((2, 1, 128), np.float32), []
    for start in range(0, len(samples) - 64, 512):
        feed = {"input": samples[None, start : start + 576], "state": state, "sr": np.array(16000)}
        probability, state = session.run(None, feed)
        found.append(probability[0, 0])
    return np.array(found)


def make(names: list[str]) -> None:
    import torch
    import torchvision
    from model_cases import CASES, TORCHVISION  # type: ignore[import-not-found]

    def made(name: str) -> Any:
        with torch.device("cpu" if name.startswith("regnet") else "meta"):  # a RegNet computes its widths with tensors
            return getattr(torchvision.models, name)(**({"init_weights": False} if name in ("googlenet", "inception_v3") else {}))

    write("shapes.json.gz", {name: shapes(made(name)) for name in TORCHVISION})
    own_source_on_torch()
    before = json.loads(gzip.decompress((GOLDEN / "answers.json.gz").read_bytes())) if names else {}
    write("answers.json.gz", {name: record(case) if name in names or not names else before[name] for name, case in CASES.items()})
    folder = os.environ.get("PYBURN_DATA")
    if folder and not names:
        write("silero.json.gz", silero(Path(folder) / "models"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable)
    parser.add_argument("names", metavar="CASE", nargs="*")
    options = parser.parse_args()
    if options.torch == sys.executable:
        make(options.names)
    else:
        raise SystemExit(subprocess.run([options.torch, __file__, *options.names]).returncode)


if __name__ == "__main__":
    main()
