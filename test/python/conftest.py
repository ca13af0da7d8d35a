"""Models that the tests share. They are small: a compilation takes some tenths of a second."""

import pathlib

import numpy as np
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = SOURCE / "share" / "models" / "example.onnx"

MLP = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 64), float32], %w: Tensor[(32, 64), float32]) -> Tensor[(4, 32), float32] {
  %0 = nn.dense(%x, %w, units=32);
  nn.relu(%0)
}
"""


def relay(result: str, body: str, **params: str) -> str:
    """A program: relay("(n, 4), float32", "nn.relu(%x)", x="(n, 4), float32")."""
    listed = ", ".join(f"%{name}: Tensor[{type}]" for name, type in params.items())
    return f'#[version = "0.0.5"]\ndef @main({listed}) -> {result} {{\n{body}\n}}\n'


@pytest.fixture(scope="session")
def weights():
    return np.random.default_rng(1).standard_normal((32, 64), dtype=np.float32)


@pytest.fixture(scope="session")
def mlp(weights):
    import bycc

    return bycc.compile(MLP, name="mlp", params={"w": weights}, annotate="dnnl", cost_model="none", threads=1)


@pytest.fixture
def x():
    return np.random.default_rng(2).standard_normal((4, 64), dtype=np.float32)


@pytest.fixture
def wanted(x, weights):
    return np.maximum(x @ weights.T, 0)
