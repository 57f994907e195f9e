"""Writes tests/golden/onnx: small models with every kind of message, for the fuzzer of the reader.

python tools/make_onnx_fuzz_goldens.py    (needs the onnx package)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

TARGET = Path(__file__).resolve().parent.parent / "tests" / "golden" / "onnx"
node, info, opset = helper.make_node, helper.make_tensor_value_info, helper.make_opsetid


def weights() -> ModelProto:
    """Tensors in every form: raw, typed, sparse, of strings and of few bits; attributes of every type."""
    tensors = [
        numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "a.weight"),
        helper.make_tensor("typed", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]),
        helper.make_tensor("longs", TensorProto.INT64, [2], [1, -1]),
        helper.make_tensor("halves", TensorProto.FLOAT16, [2], [1.0, 0.5]),
        helper.make_tensor("doubles", TensorProto.DOUBLE, [2], [1.0, 0.5]),
        helper.make_tensor("unsigned", TensorProto.UINT32, [2], [1, 2]),
        helper.make_tensor("booleans", TensorProto.BOOL, [2], [True, False]),
        helper.make_tensor("texts", TensorProto.STRING, [2], [b"one", b"two"]),  # type: ignore[list-item]
    ]
    values = helper.make_tensor("sparse", TensorProto.FLOAT, [2], [1.0, 2.0])
    places = helper.make_tensor("places", TensorProto.INT64, [2], [0, 3])
    nodes = [
        node("Gemm", ["x", "a.weight", "typed"], ["y"], name="gemm", alpha=1.0, transB=0),
        node("Constant", [], ["c"], value_ints=[1, 2, 3]),
        node("Constant", [], ["d"], value_floats=[1.0, 2.0]),
        node("Constant", [], ["e"], value_strings=["s"]),
        node("Constant", [], ["f"], sparse_value=helper.make_sparse_tensor(values, places, [2, 2])),
        node("Identity", ["longs"], ["g"]),
    ]
    graph = helper.make_graph(nodes, "weights", [info("x", 1, ["batch", 2])], [info("y", 1, ["batch", 3])], tensors)
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4]))
    model = helper.make_model(graph, opset_imports=[opset("", 18)], producer_name="goldens", ir_version=10)
    helper.set_model_props(model, {"key": "value"})
    return model


def loops() -> ModelProto:
    """A loop with a branch in it, and values of all types."""
    then = helper.make_graph([node("Neg", ["s"], ["t"])], "then", [], [info("t", 1, None)])
    other = helper.make_graph([node("Exp", ["s"], ["u"])], "else", [], [info("u", 1, None)])
    nodes = [node("If", ["k"], ["v"], then_branch=then, else_branch=other), node("Identity", ["k"], ["l"])]
    taken, given = [info("i", 7, []), info("k", 9, []), info("s", 1, None)], [info("l", 9, []), info("v", 1, None)]
    body = helper.make_graph(nodes, "body", taken, given)
    sequence = helper.make_tensor_sequence_value_info("q", 1, None)
    optional = helper.make_value_info("o", helper.make_optional_type_proto(helper.make_tensor_type_proto(1, [2])))
    inputs = [info("x", 1, None), info("n", 7, []), sequence, optional]
    graph = helper.make_graph([node("Loop", ["n", "", "x"], ["y"], body=body)], "loops", inputs, [info("y", 1, None)])
    return helper.make_model(graph, opset_imports=[opset("", 16)], ir_version=9)


def functions() -> ModelProto:
    """A function of the model with an attribute, and one of the standard."""
    scaled: Any = node("LeakyRelu", ["a"], ["b"])
    scaled.attribute.append(AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="slope"))
    function = helper.make_function("mine", "Leak", ["a"], ["c"], [scaled, node("Neg", ["b"], ["c"])], [opset("", 18)], ["slope"])
    nodes = [node("Leak", ["x"], ["z"], domain="mine", slope=0.5), node("MeanVarianceNormalization", ["z"], ["y"])]
    graph = helper.make_graph(nodes, "functions", [info("x", 1, [1, 2, 3, 4])], [info("y", 1, [1, 2, 3, 4])])
    return helper.make_model(graph, functions=[function], opset_imports=[opset("", 18), opset("mine", 1)], ir_version=10)


def classical() -> ModelProto:
    """A support-vector machine whose probabilities become maps, and a row of features from a map."""
    machine: dict[str, Any] = {
        "kernel_type": "RBF",
        "kernel_params": [0.5, 0.0, 3.0],
        "classlabels_strings": ["a", "b"],
        "vectors_per_class": [1, 1],
        "support_vectors": [0.0, 1.0, 1.0, 0.0],
        "coefficients": [1.0, -1.0],
        "rho": [0.25],
        "prob_a": [-1.0],
        "prob_b": [0.0],
    }
    ml = "ai.onnx.ml"
    nodes = [
        node("DictVectorizer", ["features"], ["row"], domain=ml, string_vocabulary=["u", "v"]),
        node("SVMClassifier", ["row"], ["label", "p"], domain=ml, **machine),
        node("ZipMap", ["p"], ["maps"], domain=ml, classlabels_strings=["a", "b"]),
    ]
    numbers = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    row = helper.make_map_type_proto(TensorProto.STRING, numbers)
    outputs = [info("label", TensorProto.STRING, None), helper.make_value_info("maps", helper.make_sequence_type_proto(row))]
    graph = helper.make_graph(nodes, "classical", [helper.make_value_info("features", row)], outputs)
    return helper.make_model(graph, opset_imports=[opset("", 18), opset(ml, 1)], ir_version=9)


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for make in (weights, loops, functions, classical):
        (TARGET / f"{make.__name__}.onnx").write_bytes(make().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
