"""Compiling: what a model may be, options, passes, messages, errors."""

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import onnx
import pytest

import bycc
from conftest import EXAMPLE, MLP, SOURCE, relay

IMAGE = np.load(SOURCE / "share" / "models" / "example" / "image.npy")
WANTED = np.load(SOURCE / "share" / "models" / "example-expected" / "probabilities.npy")


@pytest.mark.parametrize("form", ["path", "str", "bytes", "proto"])
def test_what_a_model_may_be(form):
    model = {"path": EXAMPLE, "str": str(EXAMPLE), "bytes": EXAMPLE.read_bytes(), "proto": onnx.load(EXAMPLE)}[form]
    m = bycc.compile(model, annotate="dnnl")
    np.testing.assert_allclose(m(IMAGE), WANTED, atol=1e-5)


def test_what_a_model_may_not_be():
    with pytest.raises(bycc.ArgumentError, match="not a list"):
        bycc.compile([1, 2])
    with pytest.raises(bycc.Error) as raised:
        bycc.compile("nosuch.onnx")
    assert raised.value.status == "IO" and raised.value.place == "nosuch.onnx"


def test_it_is_what_the_command_makes(tmp_path):
    m = bycc.compile(EXAMPLE, annotate="dnnl", mcpu="x86-64-v3")
    m.save(tmp_path / "example")
    (tmp_path / "command").mkdir()
    out = tmp_path / "command" / "example.o"
    command = [sys.executable, "-m", "bycc", EXAMPLE, "--annotate=dnnl", "-mcpu=x86-64-v3", "-q", "-o", out]
    subprocess.run(command, check=True)
    for suffix in (".o", ".json", ".h", ".params"):
        assert (tmp_path / f"example{suffix}").read_bytes() == out.with_suffix(suffix).read_bytes(), suffix


def test_options_have_the_names_of_the_command_line():
    m = bycc.compile(EXAMPLE, annotate=["dnnl"], pin={"fc": "host"}, O=1, mcpu="x86-64-v3", module_name="net")
    assert m.name == "net" and m.cpu == "x86-64-v3"
    flags = m.graph["bycc"]["flags"]
    assert {"-O1", "--annotate=dnnl", "--pin=fc=host"} <= set(flags)
    with pytest.raises(bycc.ArgumentError) as raised:
        bycc.compile(EXAMPLE, anotate="dnnl")
    assert "annotate'?" in str(raised.value) and raised.value.status == "USAGE"
    with pytest.raises(bycc.ArgumentError, match="precision: bad value 'f64', it takes f32"):
        bycc.compile(EXAMPLE, precision="f64")
    embedded = bycc.compile(EXAMPLE, embed_weights=True, verify_each=False)
    assert "params" not in embedded.graph["bycc"]["files"]
    np.testing.assert_allclose(embedded(IMAGE), WANTED, atol=1e-5)
    with pytest.raises(bycc.Error, match="vendor"):
        bycc.compile(EXAMPLE, annotate="dnnnl")


def test_errors_have_a_place_and_a_status():
    with pytest.raises(bycc.Error) as raised:
        bycc.compile(relay("Tensor[(3), float32]", "  abs(%y)", x="(3), float32"))
    error = raised.value
    assert (error.status, error.place) == ("INPUT", "model.relay:3:7")
    assert error.id == "BY0107"
    assert error.diagnostics[0].line == 3 and "%y" in error.message
    assert str(error).startswith("model.relay:3:7: error[INPUT]: ")
    node = onnx.helper.make_node("NoSuchOp", ["x"], ["y"], name="odd")
    value = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [3]) for n in "xy"]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", value[:1], value[1:]))
    with pytest.raises(bycc.Error) as raised:
        bycc.compile(model)
    assert raised.value.status == "UNSUP" and raised.value.diagnostics[0].node == "odd"


def test_errors_survive_pickling():
    import pickle

    with pytest.raises(bycc.Error) as raised:
        bycc.compile("nosuch.onnx")
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is type(raised.value) and str(again) == str(raised.value)


def test_parameters_may_be_arrays(weights, tmp_path, mlp, x):
    (tmp_path / "p").mkdir()
    np.save(tmp_path / "p" / "w.npy", weights)
    from_path = bycc.compile(MLP, params=tmp_path / "p", annotate="dnnl", cost_model="none", threads=1)
    np.testing.assert_array_equal(from_path(x), mlp(x))


def test_warnings_are_warnings(weights):
    text = relay("Tensor[(3), float32]", "nn.relu(%x)", x="(3), float32")
    with pytest.warns(bycc.Warning, match="bfloat16"):
        m = bycc.compile(MLP, params={"w": weights}, precision="bf16", mcpu="x86-64-v3")
    assert any("bfloat16" in message for message in m.messages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bycc.compile(text)


def test_a_pass_of_ones_own(weights, x):
    seen = []

    @bycc.relay_pass()
    def tanh_for_relu(text):
        seen.append(text)
        return text.replace("nn.relu(", "tanh(")

    assert tanh_for_relu.name == "tanh-for-relu"
    m = bycc.compile(MLP, params={"w": weights}, own_passes=[tanh_for_relu])
    np.testing.assert_allclose(m(x), np.tanh(x @ weights.T), atol=1e-4)
    assert len(seen) == 1 and '"given": ' in seen[0] and len(seen[0]) < 2000  # no data of weights
    same = bycc.relay_pass(after="fold-constants", name="same")(lambda text: None)
    np.testing.assert_allclose(
        bycc.compile(MLP, params={"w": weights}, own_passes=[same])(x), np.maximum(x @ weights.T, 0), atol=1e-4
    )


def test_a_pass_that_is_wrong(weights):
    def compiled(function, **place):
        return bycc.compile(MLP, params={"w": weights}, own_passes=[bycc.relay_pass(name="mine", **place)(function)])

    def fails(text):
        raise KeyError("not today")

    with pytest.raises(KeyError, match="not today"):
        compiled(fails)
    with pytest.raises(TypeError, match="Relay text"):
        compiled(lambda text: 7)
    with pytest.raises(bycc.Error) as raised:
        compiled(lambda text: text.replace("nn.relu", "nn.rule"))
    assert raised.value.place.startswith("<what pass 'mine' sends back>:") and raised.value.status == "UNSUP"
    with pytest.raises(bycc.Error, match="no default list has the pass 'fold-constant', did you mean"):
        compiled(lambda text: None, after="fold-constant")
    with pytest.raises(bycc.Error, match="pass 'mine' cannot run between merge-composite and choose-plan"):
        late = bycc.relay_pass(name="mine", after="merge-composite")(lambda text: None)
        bycc.compile(EXAMPLE, annotate="dnnl", own_passes=[late])


def test_progress_and_stopping():
    phases = []
    bycc.compile(EXAMPLE, progress=lambda phase, item, index, count: phases.append(phase))
    assert phases[0] in ("start", "vendors") and {"load", "passes", "host-code", "finish"} <= set(phases)

    def stop(phase, item, index, count):
        if phase == "host-code":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bycc.compile(EXAMPLE, progress=stop)


def test_control_c_stops_a_compilation():
    phases = []

    def interrupt(phase, item, index, count):
        phases.append(phase)
        if phase == "passes":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        bycc.compile(EXAMPLE, progress=interrupt)
    assert "host-code" not in phases


def test_compilations_in_threads_leave_the_interpreter_free():
    count, done = 0, threading.Event()

    def work():
        try:
            bycc.compile(EXAMPLE, annotate="dnnl")
        finally:
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.001):
        count += 1
    thread.join()
    assert count > 5


def test_the_command_line():
    run = subprocess.run([sys.executable, "-m", "bycc", "inspect", EXAMPLE], capture_output=True, text=True)
    assert run.returncode == 0 and "image" in run.stdout
    run = subprocess.run([sys.executable, "-m", "bycc", "--nosuch"], capture_output=True, text=True)
    assert run.returncode == 2 and "bycc: unknown option" in run.stderr
    script = os.path.join(os.path.dirname(sys.executable), "bycc-run")
    assert "bycc-run net.json" in subprocess.run([script, "--help"], capture_output=True, text=True, check=True).stdout
