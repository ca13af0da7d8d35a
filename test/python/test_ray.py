"""The class that the example for Ray gives to map_batches(), as a worker calls it."""

import pickle
import runpy

import numpy as np

import bycc
from conftest import SOURCE, relay

EXAMPLE = runpy.run_path(str(SOURCE / "share" / "examples" / "python" / "ray_batches.py"))


def test_a_worker_runs_batch_after_batch(mlp, x, tmp_path):
    path = mlp.save(tmp_path / "net")
    worker = EXAMPLE["Predictor"](path)
    for rows in (4, 4, 1):
        batch = {"x": x[:rows].astype(np.float64), "id": np.arange(rows)}
        result = worker(batch)
        np.testing.assert_array_equal(result["output_0"], mlp(x)[:rows])
        assert list(result["id"]) == list(range(rows))
    try:
        worker({"x": np.zeros((5, 64), np.float32)})
        raise AssertionError("a batch that is too large was taken")
    except ValueError as error:
        assert "batch_size=4" in str(error)


def test_an_open_batch_takes_any(tmp_path):
    m = bycc.compile(relay("Tensor[(n, 4), float32]", "add(%x, %x)", x="(n, 4), float32"))
    worker = EXAMPLE["Predictor"](m.save(tmp_path / "net"))
    for rows in (3, 7):
        assert worker({"x": np.ones((rows, 4), np.float32)})["output_0"].shape == (rows, 4)


def test_what_ray_sends_is_small(mlp, tmp_path):
    mlp.save(tmp_path / "net")
    assert len(pickle.dumps(bycc.load(tmp_path / "net.json"))) < 1000
