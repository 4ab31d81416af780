"""Policies as ONNX files: one graph from observation to action, normaliser and limits inside."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rapo.arrays import Floats, Singles
from rapo.deploy.array_file import FACTS, read_facts
from rapo.deploy.extras import needed
from rapo.deploy.portable_policy import PortablePolicy
from rapo.errors import InputError
from rapo.files import write_atomically
from rapo.learner.normalize import LIMIT

OPSET, IR_VERSION = 17, 8
"""Old enough for the runtimes of robots."""


def write_onnx(policy: PortablePolicy, path: Path) -> None:
    """Write a policy as an ONNX file with input `observation` and output `action`, both `[batch, size]`."""
    onnx = needed("onnx", "onnx")
    helper, numpy_helper = import_module("onnx.helper"), import_module("onnx.numpy_helper")
    nodes: list[Any] = []
    arrays: list[Any] = []

    def constant(name: str, value: Any) -> str:
        arrays.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def then(kind: str, inputs: list[str], output: str) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], name=output))
        return output

    x = then("Sub", ["observation", constant("centre", policy.centre)], "centred")
    x = then("Div", [x, constant("deviation", policy.deviation)], "scaled")
    x = then("Clip", [x, constant("least", -LIMIT), constant("most", LIMIT)], "normalised")
    last = len(policy.layers) - 1
    for i, (kernel, bias) in enumerate(policy.layers):
        names = [x, constant(f"kernel_{i}", kernel), constant(f"bias_{i}", bias)]
        x = then("Gemm", names, f"layer_{i}")
        x = x if i == last else then("Tanh", [x], f"hidden_{i}")
    x = then("Max", [x, constant("low", policy.low)], "raised")
    then("Min", [x, constant("high", policy.high)], "action")
    tensor, number = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        f"{policy.facts['task']}-{policy.facts['algorithm']}",
        [tensor("observation", number, ["batch", len(policy.centre)])],
        [tensor("action", number, ["batch", len(policy.low)])],
        arrays,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="rapo",
        producer_version=policy.facts["rapo"],
    )
    helper.set_model_props(model, _properties(policy.facts))
    onnx.checker.check_model(model, full_check=True)
    write_atomically(path, model.SerializeToString())


class OnnxPolicy:
    """A policy that ONNX Runtime computes, on one thread."""

    def __init__(self, path: Path) -> None:
        runtime = needed("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            content = path.read_bytes()  # from bytes, so that a file can't name others to be read
            self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except OSError as error:
            raise InputError(f"policy '{path}' can't be read: {error.strerror}") from None
        except Exception:  # its exceptions have no base class of their own
            raise InputError(f"policy '{path}' can't be read: it is not a whole ONNX file") from None
        self.facts = read_facts(path, self._session.get_modelmeta().custom_metadata_map.get(FACTS))
        given = [x.name for x in self._session.get_inputs()]
        if given != ["observation"] or [x.name for x in self._session.get_outputs()] != ["action"]:
            raise InputError(f"policy '{path}' has other inputs and outputs than observation and action")

    def __call__(self, observation: Floats) -> Singles:
        """Actions `[N, action]` for observations `[N, observation]`."""
        fed = {"observation": np.asarray(observation, np.float32)}
        return np.asarray(self._session.run(["action"], fed)[0])


def _properties(facts: dict[str, Any]) -> dict[str, str]:
    """Metadata for readers of the file: all facts under one key, and the short ones under keys of their
    own."""
    short = {k: facts[k] for k in ("task", "algorithm", "run", "seed", "steps", "control_rate_hz")}
    listed = {k: json.dumps(facts[k]) for k in ("observation", "action", "dynamics")}
    return {FACTS: json.dumps(facts), **{k: str(v) for k, v in short.items()}, **listed}
