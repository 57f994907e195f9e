"""Config: declared fields, checks, builders, JSON."""

from __future__ import annotations

import enum
import json
import math
from pathlib import Path
from typing import Any, ClassVar, Literal, Optional

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.config import Config, ConfigError, field


class Activation(enum.Enum):
    RELU = 1
    GELU = 2


class LayerConfig(Config):
    inputs: int
    outputs: int = 4
    bias: bool = True

    def init(self, device: Any = None) -> nn.Module:
        return nn.Linear(self.inputs, self.outputs, bias=self.bias, device=device)


class NormConfig(Config):
    features: int


class ModelConfig(Config):
    name: str
    layer: LayerConfig
    rate: float = 0.1
    mode: Literal["fast", "exact", 3] = "fast"
    activation: Activation = Activation.RELU
    dtype: pyburn.DType = pyburn.float32
    sizes: list[int] = [1, 2]
    pair: tuple[int, float] = (1, 2.0)
    many: tuple[int, ...] = ()
    table: dict[str, LayerConfig] = {}
    by_number: dict[int, str] = {}
    maybe: Optional[int] = None  # noqa: UP045  (users write it both ways)
    either: int | str | None = None
    block: LayerConfig | NormConfig = NormConfig(2)
    anything: Any = None
    seeds: list[int] = field(default_factory=lambda: [7])
    version: ClassVar[int] = 3


def full() -> ModelConfig:
    return ModelConfig("net", LayerConfig(3))


class Recursive(Config):
    depth: int
    below: Recursive | None = None


def test_defaults_and_positions() -> None:
    c = LayerConfig(3)
    assert (c.inputs, c.outputs, c.bias) == (3, 4, True)
    assert LayerConfig(3, 5, bias=False) == LayerConfig(inputs=3, outputs=5, bias=False) != LayerConfig(3)
    assert repr(c) == "LayerConfig(inputs=3, outputs=4, bias=True)"
    assert hash(c) == hash(LayerConfig(3)) and len({c, LayerConfig(3), LayerConfig(4)}) == 2
    assert full().sizes is not full().sizes and full().seeds is not full().seeds
    assert ModelConfig.version == 3 and "version" not in ModelConfig.fields()
    assert list(LayerConfig.fields().items()) == [("inputs", int), ("outputs", int), ("bias", bool)]


def test_builders() -> None:
    c = LayerConfig(3)
    d = c.with_outputs(9).with_bias(False)
    assert (d.inputs, d.outputs, d.bias) == (3, 9, False) and c.outputs == 4
    assert c.replace(inputs=1, outputs=2) == LayerConfig(1, 2)
    with pytest.raises(AttributeError, match=r"does not change: use with_outputs\(...\)"):
        c.outputs = 5
    with pytest.raises(AttributeError, match="does not change"):
        del c.outputs
    with pytest.raises(AttributeError):
        c.with_nothing(3)
    with pytest.raises(ConfigError, match="LayerConfig.outputs: expected int, got 'x'"):
        c.with_outputs("x")


def test_init() -> None:
    assert LayerConfig(3).with_bias(False).init()(pyburn.ones(3)).shape == (4,)
    assert LayerConfig(3).init("numpy").weight.device == "numpy"
    with pytest.raises(NotImplementedError, match="define init"):
        NormConfig(3).init()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, r"ModelConfig\.name: expected str, got 3 \(int\)"),
        ({"layer": 3}, r"ModelConfig\.layer: expected LayerConfig, got 3 \(int\)"),
        ({"rate": "0.1"}, r"ModelConfig\.rate: expected float, got '0\.1' \(str\)"),
        ({"rate": True}, r"ModelConfig\.rate: expected float, got True \(bool\)"),
        ({"mode": "slow"}, r"ModelConfig\.mode: expected 'fast' or 'exact' or 3, got 'slow'"),
        ({"mode": 3.0}, r"expected 'fast' or 'exact' or 3, got 3\.0 \(float\)"),
        ({"activation": "RELU"}, r"ModelConfig\.activation: expected Activation, got 'RELU'"),
        ({"dtype": "float32"}, r"ModelConfig\.dtype: expected DType, got 'float32'"),
        ({"sizes": 3}, r"ModelConfig\.sizes: expected list\[int\], got 3"),
        ({"sizes": [1, 2.5]}, r"ModelConfig\.sizes\[1\]: expected int, got 2\.5 \(float\)"),
        ({"pair": (1,)}, r"ModelConfig\.pair: expected tuple\[int, float\], got \(1,\)"),
        ({"pair": ("a", 1)}, r"ModelConfig\.pair\[0\]: expected int, got 'a'"),
        ({"table": {"a": 3}}, r"ModelConfig\.table\['a'\]: expected LayerConfig, got 3"),
        ({"table": {3: LayerConfig(1)}}, r"ModelConfig\.table key: expected str, got 3"),
        ({"maybe": "x"}, r"ModelConfig\.maybe: expected int or None, got 'x'"),
        ({"either": 2.5}, r"ModelConfig\.either: expected int or str or None, got 2\.5"),
        ({"ratte": 1.0}, r"ModelConfig: there is no field 'ratte'; did you mean 'rate'\?"),
        ({"zzzzz": 1}, r"there is no field 'zzzzz' \(fields: name, layer,"),
    ],
)
def test_mistakes(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelConfig(**{"name": "net", "layer": LayerConfig(3), **change})


def test_required_fields() -> None:
    with pytest.raises(ConfigError, match=r"ModelConfig\.layer: a value is required \(required fields: name, layer\)"):
        ModelConfig("x")
    with pytest.raises(ConfigError, match=r"LayerConfig\.inputs: given twice"):
        LayerConfig(3, inputs=3)
    with pytest.raises(ConfigError, match="expected at most 3 values, got 4"):
        LayerConfig(1, 2, True, 4)
    with pytest.raises(ValueError, match="required"):  # a ConfigError is one
        LayerConfig()


def test_conversions_that_lose_nothing() -> None:
    c = full().replace(rate=1, pair=[2, 3], many=[1, 2], sizes=(4, 5), either="a")
    assert isinstance(c.rate, float) and c.pair == (2, 3.0) and isinstance(c.pair[1], float) and c.many == (1, 2) and c.sizes == [4, 5]


def test_json_round_trip(tmp_path: Path) -> None:
    c = full().replace(
        rate=math.inf,
        mode=3,
        activation=Activation.GELU,
        dtype=pyburn.bfloat16,
        many=(1, 2, 3),
        table={"a": LayerConfig(1), "b": LayerConfig(2)},
        by_number={1: "one", -2: "minus two"},
        maybe=4,
        either="text",
        block=LayerConfig(9),
        anything={"free": [1, None, "x"]},
    )
    assert ModelConfig.from_json(c.to_json()) == c and ModelConfig.from_dict(c.to_dict()) == c
    assert ModelConfig.from_json(full().to_json(indent=None)) == full()
    plain = json.loads(c.to_json())
    assert plain["activation"] == "GELU" and plain["dtype"] == "bfloat16" and plain["rate"] == "inf" and plain["layer"]["inputs"] == 3
    c.save(tmp_path / "config.json")
    assert ModelConfig.load(tmp_path / "config.json") == c and [p.name for p in tmp_path.iterdir()] == ["config.json"]
    deep = Recursive(1, Recursive(2, Recursive(3)))
    assert Recursive.from_json(deep.to_json()) == deep
    assert math.isnan(full().with_rate(math.nan).from_json(full().with_rate(math.nan).to_json()).rate)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "ModelConfig: not valid JSON"),
        ("[]", r"ModelConfig: expected a dict, got \[\]"),
        ('{"name": "a"}', r"ModelConfig\.layer: a value is required"),
        ('{"name": "a", "layer": {"input": 3}}', r"ModelConfig\.layer: there is no field 'input'; did you mean 'inputs'\?"),
        ('{"name": "a", "layer": {"inputs": "x"}}', r"layer\.inputs: expected int, got 'x'"),
        ('{"name": "a", "layer": {"inputs": 1}, "dtype": "float31"}', r"ModelConfig\.dtype: expected DType, got 'float31'"),
        ('{"name": "a", "layer": {"inputs": 1}, "activation": "TANH"}', r"ModelConfig\.activation: expected Activation, got 'TANH'"),
        ('{"name": "a", "layer": {"inputs": 1}, "block": {"size": 3}}', "there is no field 'size'"),
    ],
)
def test_damaged_json(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelConfig.from_json(text)


def test_files_that_are_no_configs(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not valid JSON"):
        LayerConfig.load(tmp_path / "x")
    (tmp_path / "x").write_text("[" * 100000)
    with pytest.raises(ConfigError, match="not valid JSON"):
        LayerConfig.load(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        LayerConfig.load(tmp_path / "nothing")


class Checked(Config):
    low: int = 0
    high: int = 1

    def validate(self) -> None:
        if self.low >= self.high:
            raise ConfigError(f"low must be below high: got {self.low} and {self.high}")


class Wider(Checked):
    high: int = 5
    step: int = 1


def test_validation_and_inheritance() -> None:
    with pytest.raises(ConfigError, match="below high: got 3 and 1"):
        Checked(low=3)
    w = Wider(low=3)
    assert list(Wider.fields()) == ["low", "high", "step"] and (w.low, w.high, w.step) == (3, 5, 1)
    with pytest.raises(ConfigError, match="below high"):
        w.with_high(2)


class Strange(Config):
    value: set[int]


def test_annotations_that_are_not_understood() -> None:
    with pytest.raises(ConfigError, match="an annotation that configs do not understand"):
        Strange({1})


def test_models_are_saved_with_their_config(tmp_path: Path) -> None:
    config = LayerConfig(3).with_outputs(2)
    model = config.init()
    pyburn.io.save_module(model, tmp_path / "model.pyburn", config=config)
    again = LayerConfig.load(tmp_path / "model.pyburn")
    assert again == config
    other = again.init()
    pyburn.io.load_into(other, tmp_path / "model.pyburn")
    assert pyburn.equal(other.weight, model.weight)


def test_a_mistake_inside_is_named_by_its_way() -> None:
    for layer, message in (
        ({"inputs": "3"}, r"ModelConfig\.layer\.inputs: expected int, got '3' \(str\)"),
        ({"inputs": 3, "bias": 1}, r"ModelConfig\.layer\.bias: expected bool, got 1"),
        ({"inptus": 3}, r"ModelConfig\.layer: there is no field 'inptus'; did you mean 'inputs'\?"),
    ):
        with pytest.raises(ConfigError, match=message):
            ModelConfig.from_dict({"name": "a", "layer": layer})


def test_numbers_of_numpy_are_numbers() -> None:
    config = LayerConfig(np.int64(3), outputs=np.uint8(2))
    assert type(config.inputs) is type(config.outputs) is int and LayerConfig.from_json(config.to_json()) == config
    assert ModelConfig("a", config, rate=np.float32(0.5)).rate == 0.5
    with pytest.raises(ConfigError, match="expected int"):
        LayerConfig(np.float64(3))
    with pytest.raises(ConfigError, match="expected int"):
        LayerConfig(np.True_)


def test_fields_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match=r"Broken\.init: a field cannot be called like a method"):
        type("Broken", (Config,), {"__annotations__": {"init": int}})

    class Handle(Config):
        place: Path = Path("here")

    with pytest.raises(ConfigError, match=r"Handle: JSON cannot hold all of it: .*Path"):
        Handle().to_json()


def test_enumerations_as_keys() -> None:
    class Sizes(Config):
        by_kind: dict[Activation, int] = {}

    config = Sizes({Activation.GELU: 3})
    assert json.loads(config.to_json()) == {"by_kind": {"GELU": 3}} and Sizes.from_json(config.to_json()) == config
