"""Running models: inputs, outputs, open extents, dtypes, threads."""

import concurrent.futures
import gc
import resource

import ml_dtypes
import numpy as np
import pytest

import bycc
from conftest import relay


def test_one_input_and_output(mlp, x, wanted):
    y = mlp(x)
    assert isinstance(y, np.ndarray) and y.dtype == np.float32
    np.testing.assert_allclose(y, wanted, atol=1e-4)
    np.testing.assert_array_equal(mlp(x=x), y)
    np.testing.assert_array_equal(mlp.run({"x": x})["output_0"], y)


def test_several_outputs_are_a_tuple():
    m = bycc.compile(relay("(Tensor[(3), float32], Tensor[(3), float32])", "(abs(%a), add(%a, %b))", a="(3), float32", b="(3), float32"))
    a, b = np.float32([-1, 2, -3]), np.float32([1, 1, 1])
    one, two = m(a, b=b)
    np.testing.assert_array_equal(one, np.abs(a))
    np.testing.assert_array_equal(two, a + b)
    assert list(m.run({"b": b, "a": a})) == ["output_0", "output_1"]
    assert [str(spec) for spec in m.inputs] == ["a: float32 (3,)", "b: float32 (3,)"]


def test_inputs_are_read_where_they_are(mlp, x, wanted):
    whole = np.zeros((4, 65), np.float32)
    x.setflags(write=False)
    np.testing.assert_allclose(mlp(x), wanted, atol=1e-4)
    np.testing.assert_allclose(mlp(memoryview(x)), wanted, atol=1e-4)
    whole[:, 1:] = x  # at an odd address, and not dense: copied
    np.testing.assert_allclose(mlp(whole[:, 1:]), wanted, atol=1e-4)
    np.testing.assert_allclose(mlp(np.asfortranarray(x)), wanted, atol=1e-4)
    np.testing.assert_allclose(mlp(x.tolist()), wanted, atol=1e-4)


class OnlyDlpack:
    """An array of a package that NumPy knows nothing of."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


def test_dlpack(mlp, x, wanted):
    np.testing.assert_allclose(mlp(OnlyDlpack(x)), wanted, atol=1e-4)
    np.testing.assert_allclose(mlp(OnlyDlpack(np.asfortranarray(x))), wanted, atol=1e-4)
    with pytest.raises(bycc.ArgumentError, match="wanted float32 .4, 64., given float64 .4, 64."):
        mlp(OnlyDlpack(x.astype("float64")))
    with pytest.raises(bycc.ArgumentError, match="another device"):
        mlp(OnlyDlpack(x, device=(2, 0)))


def test_results_go_where_they_are_wanted(mlp, x, wanted):
    y = np.full((4, 32), 7, np.float32)
    assert mlp.run({"x": x}, out={"output_0": y})["output_0"] is y
    np.testing.assert_allclose(y, wanted, atol=1e-4)
    for bad in (np.empty((4, 31), np.float32), np.empty((4, 32)), np.empty((32, 4), np.float32).T, b"text"):
        with pytest.raises(bycc.ArgumentError, match="output 'output_0'"):
            mlp.run({"x": x}, out={"output_0": bad})
    y.setflags(write=False)
    with pytest.raises(bycc.ArgumentError, match="written"):
        mlp.run({"x": x}, out={"output_0": y})
    np.testing.assert_allclose(mlp(x), wanted, atol=1e-4)  # nothing of it stays


def test_open_extents():
    m = bycc.compile(relay("Tensor[(n, 4), float32]", "add(%x, %x)", x="(n, 4), float32"))
    assert m.inputs[0].shape == ("n", 4)
    for n in (1, 5, 0, 1000, 2):
        x = np.random.default_rng(n).standard_normal((n, 4), dtype=np.float32)
        np.testing.assert_array_equal(m(x), x + x)
    y = np.empty((2, 4), np.float32)
    assert m.run({"x": x}, out={"output_0": y})["output_0"] is y
    with pytest.raises(bycc.ArgumentError):
        m.run({"x": np.zeros((3, 4), np.float32)}, out={"output_0": y})
    fixed = bycc.compile(relay("Tensor[(n, 4), float32]", "add(%x, %x)", x="(n, 4), float32"), dims={"n": 3})
    assert fixed.outputs[0].shape == (3, 4)
    fixed = bycc.compile(relay("Tensor[(n, 4), float32]", "add(%x, %x)", x="(n, 4), float32"), shapes={"x": (2, 4)})
    assert fixed.inputs[0].shape == (2, 4)


def test_extents_that_depend_on_data():
    m = bycc.compile(relay("Tensor[(?, 1), int32]", "argwhere(%x)", x="(5), bool"))
    x = np.array([True, False, True, True, False])
    np.testing.assert_array_equal(m(x), np.argwhere(x))
    np.testing.assert_array_equal(m(np.zeros(5, bool)), np.zeros((0, 1), np.int32))
    y = np.empty((3, 1), np.int32)
    assert m.run({"x": x}, out={"output_0": y})["output_0"] is y
    np.testing.assert_array_equal(y, np.argwhere(x))
    with pytest.raises(bycc.ArgumentError, match=r"output 'output_0' is \(0, 1\)"):
        m.run({"x": np.zeros(5, bool)}, out={"output_0": y})
    np.testing.assert_array_equal(m(x), np.argwhere(x))


@pytest.mark.parametrize(
    "dtype", "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16".split()
)
def test_dtypes(dtype):
    m = bycc.compile(relay(f"Tensor[(2, 3), {dtype}]", "reshape(%x, newshape=[2, 3])", x=f"(3, 2), {dtype}"))
    x = np.array([[0, 1], [1, 1], [0, 1]]).astype(dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
    y = m(x)
    assert y.dtype == x.dtype and m.outputs[0].dtype == dtype
    np.testing.assert_array_equal(y, x.reshape(2, 3))


def test_bfloat16_in_and_out():
    m = bycc.compile(relay("Tensor[(n), bfloat16]", "add(%x, %x)", x="(n), bfloat16"))
    x = np.arange(6, dtype=np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(m(x), x + x)
    np.testing.assert_array_equal(m(x[::2]), x[::2] + x[::2])
    y = np.empty(6, ml_dtypes.bfloat16)
    assert m.run({"x": x}, out={"output_0": y})["output_0"] is y
    np.testing.assert_array_equal(y, x + x)
    with pytest.raises(bycc.ArgumentError, match="wanted bfloat16"):
        m(x.view(np.int16))


def test_scalars():
    m = bycc.compile(relay("float32", "add(%x, 1f)", x="(), float32").replace("Tensor[(), float32]", "float32"))
    assert m(2.5) == 3.5 and m(np.float32(2.5)).shape == ()


def test_wrong_inputs_say_what_is_wanted(mlp, x):
    def text(*args, **named):
        with pytest.raises(bycc.ArgumentError) as raised:
            mlp(*args, **named)
        assert raised.value.status == "ARG" and isinstance(raised.value, ValueError)
        return str(raised.value)

    assert text() == "error[ARG]: no data for input 'x'"
    assert text(x, x) == "error[ARG]: 2 inputs are given, the model has 1: 'x'"
    assert text(x, x=x) == "error[ARG]: input 'x' is given twice"
    assert text(xs=x) == "error[ARG]: the model has no input 'xs', did you mean 'x'?"
    assert text(image=x) == "error[ARG]: the model has no input 'image'; it has 'x'"
    assert text(x.astype("float64")) == (
        "error[ARG]: input 'x': wanted float32 (4, 64), given float64 (4, 64)\n"
        'note: x.astype("float32") converts it'
    )
    assert text(x[:2]) == "error[ARG]: input 'x': wanted float32 (4, 64), given float32 (2, 64)"
    assert text(x[0]) == "error[ARG]: input 'x': wanted float32 (4, 64), given float32 (64,)"
    assert text("text") == "error[ARG]: input 'x': wanted float32 (4, 64), given str, which is no array"
    assert text(x + 1j).startswith("error[ARG]: input 'x': wanted float32 (4, 64), given an unknown dtype")
    with pytest.raises(bycc.ArgumentError, match="no output 'y'; it has 'output_0'"):
        mlp.run({"x": x}, out={"y": x})


def test_a_run_that_fails_says_why():
    m = bycc.compile(relay("Tensor[(n), float32]", "add(%a, %b)", a="(n), float32", b="(n), float32"))
    with pytest.raises(bycc.ArgumentError, match="ARG"):
        m(np.zeros(3, np.float32), np.zeros(4, np.float32))
    np.testing.assert_array_equal(m(np.ones(3, np.float32), np.ones(3, np.float32)), [2, 2, 2])


def test_eight_threads_are_one(mlp):
    inputs = [np.random.default_rng(i).standard_normal((4, 64), dtype=np.float32) for i in range(200)]
    alone = [mlp(x) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for y, one in zip(pool.map(mlp, inputs), alone):
                assert y.tobytes() == one.tobytes()


def resident_kib():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def test_runs_and_loads_leak_nothing(mlp, x, tmp_path):
    path = mlp.save(tmp_path / "mlp")

    def runs(count):
        for _ in range(count):
            mlp(x)
            mlp.run({"x": x})
            with pytest.raises(bycc.Error):
                mlp(x[0])

    def loads(count):
        for _ in range(count):
            bycc.load(path)(x)

    for work, count in ((runs, 3000), (loads, 500)):
        work(count // 5)
        before = resident_kib()
        work(count)
        assert resident_kib() - before < 2048, work.__name__
