"""Every snippet of share/doc/python.md runs, in order, in one folder."""

import re

import numpy as np
import onnx
import pytest

from conftest import SOURCE

TEXT = (SOURCE / "share" / "doc" / "python.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def write_models(folder):
    h, rng = onnx.helper, np.random.default_rng(0)
    weight = onnx.numpy_helper.from_array(rng.standard_normal((64, 8), dtype=np.float32), "w")
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        h.make_node("Tanh", ["a"], ["b"], name="tanh"),
        h.make_node("Softmax", ["b"], ["y"], name="softmax_1", axis=-1),
    ]
    tensor = lambda name, shape: h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    graph = h.make_graph(nodes, "net", [tensor("x", ["batch", 64])], [tensor("y", ["batch", 8])], [weight])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    (folder / "broken.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { abs(%y) }\n')


def test_snippets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_models(tmp_path)
    names = {"x": np.ones((4, 64), np.float32)}
    assert len(SNIPPETS) == 9
    for snippet in SNIPPETS:
        if "torch." in snippet:
            continue
        exec(compile(snippet, "python.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "broken.relay:2:" in shown and "\nINPUT broken.relay:2:" in shown
    assert "softmax_1" in shown and "µs a run" in shown
    assert names["outputs"]["y"].shape == (4, 8)


def test_snippets_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    import bycc

    module = torch.nn.Linear(8, 4)
    names = {"bycc": bycc, "module": module, "tensor": torch.ones(2, 8)}
    names["numpy"] = np
    for snippet in SNIPPETS:
        if "torch." in snippet:
            exec(compile(snippet, "python.md", "exec"), names)
    assert names["m"].inputs[0].shape[0] == "rows"
    with torch.no_grad():
        torch.testing.assert_close(names["y"], module(names["tensor"]))
