"""Models as objects: files, pickling, reports, what an import brings along."""

import copy
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

import bycc
from conftest import EXAMPLE, MLP, relay


def test_save_and_load(mlp, x, tmp_path):
    assert mlp.save(tmp_path / "net") == str(tmp_path / "net.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.h", "net.json", "net.o", "net.params"]
    for path in (tmp_path / "net.json", str(tmp_path / "net"), tmp_path / "net.o"):
        again = bycc.load(path, threads=1)
        np.testing.assert_array_equal(again(x), mlp(x))
        assert again.set_id == mlp.set_id and again.path == str(tmp_path / "net.json")
    (tmp_path / "other").mkdir()
    again.save(tmp_path / "other" / "name.json")
    np.testing.assert_array_equal(bycc.load(tmp_path / "other" / "name.json", threads=1, verify=True)(x), mlp(x))


def test_what_cannot_be_loaded(mlp, tmp_path):
    with pytest.raises(bycc.Error) as raised:
        bycc.load(tmp_path / "nosuch.json")
    assert raised.value.place.endswith("nosuch.json")
    with pytest.raises(bycc.ArgumentError, match="bycc.compile"):
        bycc.load(EXAMPLE)
    path = tmp_path / "net.json"
    mlp.save(path)
    (tmp_path / "net.o").write_bytes(b"no object")
    with pytest.raises(bycc.Error) as raised:
        bycc.load(path)
    assert raised.value.status == "LOAD" and raised.value.place.endswith("net.o")
    with pytest.raises(bycc.Error, match="error"):
        mlp.save(tmp_path / "nosuch" / "net")


def run_model(m, x):
    return m(x)


def test_pickles(weights, x, tmp_path):
    m = bycc.compile(MLP, params={"w": weights}, threads=1)
    y = m(x)
    whole = pickle.dumps(m)  # in memory only: with all that it holds
    np.testing.assert_array_equal(pickle.loads(whole)(x), y)
    m.save(tmp_path / "net")
    small = pickle.dumps(m)
    assert len(small) < 1000 < len(whole)
    np.testing.assert_array_equal(pickle.loads(small)(x), y)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(run_model, (m, x)), y)
    bycc.compile(MLP, params={"w": weights + 1}).save(tmp_path / "net")
    with pytest.raises(bycc.Error, match="another build"):
        pickle.loads(small)
    assert copy.deepcopy(m) is m


def test_reports():
    m = bycc.compile(EXAMPLE, annotate="dnnl", cost_model="none")
    (region,) = m.regions
    assert region.vendor == "dnnl" and "conv1" in region.nodes and region.flops > 0
    assert repr(m).startswith("<bycc.Model example: image: float32 (1, 1, 28, 28) -> probabilities: float32 (1, 10) | dnnl: 1 region, ")
    assert "<table>" in m._repr_html_()
    table = m.explain()
    assert len(table) == len(m.graph["bycc"]["placement"]) and table[0].placed == "dnnl"
    assert "conv1" in str(table) and "<td" in table._repr_html_()
    assert "dnnl" in table.text
    host = bycc.compile(EXAMPLE)
    assert host.regions == [] and "host: 12 ops" in repr(host)
    assert any("softmax" in row.node for row in host.explain())


def test_reports_of_a_model_that_was_replaced(mlp, weights, tmp_path):
    path = mlp.save(tmp_path / "net")
    old = bycc.load(path)
    assert old.regions and old.explain().text is None
    old = bycc.load(path)
    bycc.compile(MLP, params={"w": weights + 1}).save(path)
    with pytest.raises(bycc.ArgumentError, match="another build"):
        old.regions


def test_html_shows_text_as_it_is():
    m = bycc.compile(relay("Tensor[(3), float32]", "nn.relu(%x)", x="(3), float32"), name="<b>")
    assert "&lt;b&gt;" in m._repr_html_() and "<b>" not in m._repr_html_()


def test_profile(mlp, x):
    profile = mlp.profile(x, runs=3)
    assert profile.runs == 3 and profile.seconds > 0
    assert {entry.calls for entry in profile if entry.region < 0} == {3}
    assert "µs a run" in str(profile) and "<table>" in profile._repr_html_()
    assert len(mlp.profile(x=x)) == len(profile)
    with pytest.raises(bycc.ArgumentError):
        mlp.profile()
    with pytest.raises(bycc.ArgumentError):
        mlp.profile(x, runs=0)


def imports_after(code):
    check = "import sys; print([n for n in ('numpy', 'torch', 'bycc._compiler', 'ml_dtypes') if n in sys.modules])"
    maps = "print('libLLVM' in open('/proc/self/maps').read())"
    run = subprocess.run([sys.executable, "-c", f"{code}\n{check}\n{maps}"], capture_output=True, text=True, check=True)
    return run.stdout.split("\n")[:2]


def test_an_import_and_a_run_need_no_compiler(mlp, x, tmp_path):
    assert imports_after("import bycc") == ["[]", "False"]
    path = mlp.save(tmp_path / "net")
    np.save(tmp_path / "x.npy", x)
    run = f"import bycc, numpy\nbycc.load({path!r})(numpy.load({str(tmp_path / 'x.npy')!r}))"
    assert imports_after(run) == ["['numpy', 'ml_dtypes']", "False"]


def test_types_and_docs():
    import inspect
    import pathlib

    for name in ("py.typed", "_runtime.pyi", "_compiler.pyi"):
        assert (pathlib.Path(bycc.__file__).parent / name).exists(), name
    for name in bycc.__all__:
        assert inspect.getdoc(getattr(bycc, name)), name
    assert "annotate" in inspect.signature(bycc.compile).parameters


def test_files_that_are_cut(mlp, x, tmp_path):
    path = mlp.save(tmp_path / "net")
    np.save(tmp_path / "x.npy", x)
    code = f"""
import bycc, numpy, os
bycc.guard_files()
m, x = bycc.load({path!r}), numpy.load({str(tmp_path / "x.npy")!r})
m(x)
os.truncate({str(tmp_path / "net.params")!r}, 0)
try:
    m(x)
except bycc.Error as error:
    print(error.status)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "LOAD\n"), run.stderr
