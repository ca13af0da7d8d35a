"""torch: tensors in and out, torch.compile(backend="bycc"), modules as models."""

import warnings

import numpy as np
import pytest

import bycc
from conftest import relay

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch's exporter needs it")
nn = torch.nn


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.GELU()
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.out = nn.Linear(16, 50)

    def forward(self, ids):
        return torch.log_softmax(self.out(self.table(ids).sum(1)), -1)


class TwoOutputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, a, b):
        h = torch.sigmoid(self.linear(a))
        return h * b, {"sum": (h + b).sum(-1)}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(8, 16, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0][:, -1]


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)), lambda: (torch.randn(4, 64),)),
    "convolutions": (Convolutions, lambda: (torch.randn(2, 3, 16, 16),)),
    "transformer": (Block, lambda: (torch.randn(2, 6, 32),)),
    "embedding": (Embedding, lambda: (torch.randint(0, 50, (3, 7)),)),
    "two outputs": (TwoOutputs, lambda: (torch.randn(3, 8), torch.randn(3, 8))),
    "recurrent": (Recurrent, lambda: (torch.randn(2, 5, 8),)),
}


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    torch._dynamo.reset()


@pytest.fixture
def strict():
    """What falls back to torch is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", bycc.Warning)
        yield


def flat(value):
    return torch.utils._pytree.tree_leaves(value)


@pytest.mark.parametrize("name", MODELS)
def test_both_ways_agree_with_eager(name, strict):
    make, inputs = MODELS[name]
    module, arguments = make().eval(), inputs()
    with torch.no_grad():
        wanted = module(*arguments)
        compiled = torch.compile(module, backend="bycc", options={"annotate": "dnnl"})
        for _ in range(2):
            torch.testing.assert_close(compiled(*arguments), wanted, rtol=1e-3, atol=1e-5)
    m = bycc.compile(module, inputs=arguments, annotate="dnnl")
    found = m(*arguments)
    found = found if isinstance(found, tuple) else (found,)
    torch.testing.assert_close(list(found), flat(wanted), rtol=1e-3, atol=1e-5)


def test_tensors_in_and_out():
    m = bycc.compile(relay("Tensor[(n, 2), bfloat16]", "add(%x, %x)", x="(n, 2), bfloat16"))
    x = torch.randn(3, 2).to(torch.bfloat16)
    assert torch.equal(m(x), x + x)
    assert torch.equal(m(x.t().contiguous().t()), x + x)  # not row-major
    y = torch.empty(3, 2, dtype=torch.bfloat16)
    assert m.run({"x": x}, out={"output_0": y})["output_0"] is y and torch.equal(y, x + x)
    with pytest.raises(bycc.ArgumentError, match=r"x\.to\(torch\.bfloat16\)"):
        m(torch.randn(3, 2))
    with pytest.raises(bycc.ArgumentError, match="another device"):
        m(x.to("meta"))


def test_mixed_inputs():
    m = bycc.compile(relay("Tensor[(3), float32]", "add(%a, %b)", a="(3), float32", b="(3), float32"))
    assert torch.equal(m(np.ones(3, np.float32), torch.ones(3)), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="grad"):
        m(torch.ones(3), torch.ones(3, requires_grad=True))


def test_open_extents(strict, monkeypatch):
    import bycc.torch

    calls, compile = [], bycc.torch.compile
    monkeypatch.setattr(bycc.torch, "compile", lambda *args, **options: calls.append(1) or compile(*args, **options))
    module = MODELS["mlp"][0]().eval()
    compiled = torch.compile(module, backend="bycc", dynamic=True)
    with torch.no_grad():
        for rows in (3, 4, 9):
            x = torch.randn(rows, 64)
            torch.testing.assert_close(compiled(x), module(x), rtol=1e-3, atol=1e-5)
    assert len(calls) == 1


def test_a_module_with_open_extents():
    module = MODELS["mlp"][0]().eval()
    batch = torch.export.Dim("batch")
    m = bycc.compile(module, inputs=(torch.randn(2, 64),), dynamic_shapes=({0: batch},))
    assert m.inputs[0].shape == ("batch", 64)
    x = torch.randn(5, 64)
    with torch.no_grad():
        torch.testing.assert_close(m(x), module(x), rtol=1e-3, atol=1e-5)


def test_graph_breaks_fall_back(strict):
    lines = []

    def function(x):
        y = torch.relu(x) * 2
        torch._dynamo.graph_break()
        lines.append("between")
        return torch.tanh(y)

    x = torch.randn(5)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(function, backend="bycc")(x), torch.tanh(torch.relu(x) * 2))
    assert lines == ["between"]


def test_what_bycc_refuses_stays_with_torch():
    def function(x):
        return torch.fft.fft(x).abs() + torch.linalg.svdvals(x)[0]

    x = torch.randn(4, 4)
    with torch.no_grad(), pytest.warns(bycc.Warning, match="stays with torch"):
        torch.testing.assert_close(torch.compile(function, backend="bycc")(x), function(x))


def test_writes_stay_with_torch():
    def function(x):
        x.add_(1)
        return x * 2

    x, y = torch.zeros(3), torch.zeros(3)
    with torch.no_grad(), pytest.warns(bycc.Warning, match="writes into its inputs"):
        result = torch.compile(function, backend="bycc")(x)
    torch.testing.assert_close(result, function(y))
    torch.testing.assert_close(x, y)


def test_gradients_stay_with_torch():
    module = MODELS["mlp"][0]()
    x = torch.randn(4, 64)
    compiled = torch.compile(module, backend="bycc")
    with pytest.warns(bycc.Warning, match="no_grad"):
        compiled(x).sum().backward()
    assert module[0].weight.grad is not None


def test_weights_that_change_are_seen(strict):
    module = nn.Linear(4, 2).eval()
    x = torch.randn(3, 4)
    compiled = torch.compile(module, backend="bycc")
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-3, atol=1e-5)
        module.weight.mul_(2)
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-3, atol=1e-5)
        module.weight = nn.Parameter(torch.ones(2, 4))
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-3, atol=1e-5)


def test_options_that_are_wrong_say_so():
    with torch.no_grad(), pytest.raises(bycc.ArgumentError, match="annotate'"):
        torch.compile(torch.relu, backend="bycc", options={"anotate": "dnnl"})(torch.randn(3))
    with pytest.raises(bycc.ArgumentError, match="example inputs"):
        bycc.compile(nn.Linear(3, 3))
