#!/usr/bin/env bash
# `bycc check` lists whatever is not supported, all at once: operators, attributes
# and dtypes, of ONNX and of Relay text.
. "$(dirname "$0")/lib.sh"

# says TEXT: the last refused command said so.
says() { grep -qF -- "$1" refuse.out || { cat refuse.out >&2; fail "no '$1'"; }; }

PYTHONPATH=$root/tools/dev python3 - <<'END'
from make_example import field, node, value_info
def attr(name, value):
    return field(5, field(1, name) + field(3, value) + field(20, 2))
float8 = field(1, 2) + field(2, 17) + field(8, "f8") + field(9, b"\0\0")
graph = b"".join(field(1, n) for n in (
    node("first", "Nothing", ["x"], "a") + field(7, "my.own"),
    node("soft", "Softmax", ["a"], "b") + attr("axis", 1) + attr("foo", 1) + attr("bar", 2),
    node("text", "StringNormalizer", ["x"], "c"),
    node("leaky", "LeakyRelu", ["x"], "d") + attr("alpha", 1)))
graph += field(2, "g") + field(5, float8) + field(11, value_info("x", [2, 3]))
graph += b"".join(field(12, value_info(name, [2, 3])) for name in "bcd") + field(13, value_info("a", [2, 3]))
open("bad.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)) +
                             field(8, field(1, "my.own") + field(2, 1)))
END
refuse 1 "node 'first' (Nothing): error[UNSUP]: operator my.own.Nothing" bycc check bad.onnx
says "node 'soft' (Softmax): error[UNSUP]: attribute 'foo' is not supported here"
says "node 'soft' (Softmax): error[UNSUP]: attribute 'bar' is not supported here"
says "node 'text' (StringNormalizer): error[UNSUP]: operator StringNormalizer"
says "node 'leaky' (LeakyRelu): error[INPUT]: attribute 'alpha'"
says "node 'f8' (initializer): error[UNSUP]: element type float8e4m3fn"
refuse 1 '"supported": false' bycc check bad.onnx --json
expect "$(python3 -c "import json; print(*sorted(p['name'] for p in json.load(open('refuse.out'))['unsupported']))")" "f8 first leaky soft soft text"

cat > bad.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %c: Tensor[(2), complex64]) {
  %0 = frobnicate(%x, k=1);
  %1 = nn.softmax(%0, axis="a", foo=1, bar=2);
  %2 = nn.relu(%x, alpha=1f);
  %3 = nosuch.op(%2);
  %4 = cast(%x, dtype="float8");
  (%3, %1, %4)
}
END
refuse 1 "bad.relay:2:56: error[UNSUP]: dtype complex64 is not supported" bycc check bad.relay
says "bad.relay:3:8: error[UNSUP]: operator frobnicate is not known"
says "bad.relay:4:8: error[INPUT]: nn.softmax: attribute axis is an integer"
says "bad.relay:4:8: error[INPUT]: nn.softmax: unknown attribute foo"
says "bad.relay:4:8: error[INPUT]: nn.softmax: unknown attribute bar"
says "bad.relay:5:8: error[INPUT]: nn.relu: unknown attribute alpha"
says "bad.relay:6:8: error[UNSUP]: operator nosuch.op is not known"
says "bad.relay:7:8: error[INPUT]: cast: attribute dtype"

# More than a page of them.
{ echo '#[version = "0.0.5"]'; echo 'def @main(%x: float32) {'
  for i in $(seq 0 49); do echo "  %$i = nosuch$i(%x);"; done
  echo '  %x'; echo '}'; } > many.relay
refuse 1 "operator nosuch49 is not known" bycc check many.relay
