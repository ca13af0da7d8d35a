#!/usr/bin/env python3
"""Lists the layers of an ONNX model as bench-floor reads them: list_layers.py MODEL.onnx [--split-products]

A layer is what a hand-written program would give the library as one primitive: a convolution or
product with its bias, scale, sum, activation; a pool, softmax, layer norm, concat, or an element-wise
operator that nothing takes in. Views (reshape, transpose) and quantisation between layers vanish:
an operand is called by its storage, with the type it is read or written in. Products of one
operand with several constants are merged into one (QKV); --split-products leaves them apart.

One layer a line, `KIND key=value ...`; an operand is NAME[@ELEMENTS]:TYPE:DxD...; see Layers.h.
"""
import argparse
import sys

import onnx
from onnx import numpy_helper

VIEWS = ("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Dropout",
         "QuantizeLinear", "DequantizeLinear")
ACTIVATIONS = {"Relu": "relu", "Sigmoid": "logistic", "Tanh": "tanh", "HardSwish": "hardswish"}
ELEMENTWISE = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Max": "max", "Min": "min"}
SMALL = 256  # elements: constants up to here are read for their values


def text(dims):
    return "x".join(str(d) for d in dims)


class Layer:
    def __init__(self, kind, name, **keys):
        self.kind, self.name, self.keys, self.post = kind, name, keys, []

    def line(self):
        keys = dict(self.keys)
        if self.post:
            keys["post"] = ",".join(self.post)
        return " ".join([self.kind, "name=" + self.name] + [f"{k}={v}" for k, v in keys.items()])


class Graph:
    """An ONNX graph without its large constants, with shapes."""

    def __init__(self, path):
        model = onnx.load(path, load_external_data=False)
        graph = model.graph
        self.small, self.constant, self.shape = {}, set(), {}
        for tensor in graph.initializer:
            self.constant.add(tensor.name)
            self.shape[tensor.name] = list(tensor.dims)
            if not tensor.external_data and onnx.numpy_helper.to_array(tensor).size <= SMALL:
                self.small[tensor.name] = numpy_helper.to_array(tensor)
        stripped = self.stripped(model)
        inferred = onnx.shape_inference.infer_shapes(stripped, data_prop=True).graph
        for value in list(inferred.value_info) + list(inferred.input) + list(inferred.output):
            self.shape[value.name] = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        self.nodes = list(graph.node)
        self.producer = {o: n for n in self.nodes for o in n.output}
        self.order = {id(n): i for i, n in enumerate(self.nodes)}
        self.consumers = {}
        for node in self.nodes:
            for name in node.input:
                self.consumers.setdefault(name, []).append(node)
        self.outputs = {o.name for o in graph.output}
        self.zero_point = {t.name: t.data_type for t in graph.initializer}

    def stripped(self, model):
        """The model with its large constants as inputs: shape inference copies what it is given."""
        graph = onnx.GraphProto()
        graph.name = "stripped"
        graph.node.extend(model.graph.node)
        graph.input.extend(model.graph.input)
        graph.output.extend(model.graph.output)
        for tensor in model.graph.initializer:
            if tensor.name in self.small:
                graph.initializer.append(tensor)
            else:
                graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        result = onnx.ModelProto()
        result.ir_version = model.ir_version
        result.opset_import.extend(model.opset_import)
        result.graph.CopyFrom(graph)
        return result

    def is_constant(self, name):
        node = self.producer.get(name)
        if node is not None and node.op_type in VIEWS:
            return self.is_constant(node.input[0])
        return name in self.constant

    def scalar(self, name):
        value = self.small.get(name)
        return float(value.reshape(-1)[0]) if value is not None and value.size == 1 else None

    def storage(self, name):
        """The tensor whose bytes `name` views."""
        while name in self.producer and self.producer[name].op_type in VIEWS:
            name = self.producer[name].input[0]
        return name

    def quantised(self, node):
        return "u8" if self.zero_point[node.input[2]] == onnx.TensorProto.UINT8 else "s8"

    def read_type(self, name):
        node = self.producer.get(name)
        while node is not None and node.op_type in VIEWS:
            if node.op_type == "DequantizeLinear":
                kind = self.zero_point[node.input[2]]
                return {onnx.TensorProto.UINT8: "u8", onnx.TensorProto.INT8: "s8"}.get(kind, "f32")
            node = self.producer.get(node.input[0])
        return "f32"

    def users(self, name):
        """Nodes that read `name`, views looked through except quantisation."""
        found = []
        for node in self.consumers.get(name, []):
            if node.op_type in VIEWS and node.op_type != "QuantizeLinear":
                found += self.users(node.output[0])
            else:
                found.append(node)
        return found

    def written_type(self, name):
        users = self.users(name)
        if users and name not in self.outputs and all(n.op_type == "QuantizeLinear" for n in users):
            return self.quantised(users[0])
        return "f32"

    def only_user(self, name):
        """The one node that reads `name`, through quantisation; (node, operand) or None."""
        while True:
            users = self.consumers.get(name, [])
            if len(users) != 1 or name in self.outputs:
                return None
            if users[0].op_type not in ("QuantizeLinear", "DequantizeLinear"):
                return users[0], name
            name = users[0].output[0]


def follow(graph, name, *steps):
    """Follows single consumers of the given types: the last output, or None."""
    for step in steps:
        found = graph.only_user(name)
        if found is None or found[0].op_type != step:
            return None
        name = found[0].output[0]
    return name


def match_gelu(graph, x):
    """x * (erf(x / sqrt 2) + 1) * 0.5 as exporters write it: its output."""
    users = graph.consumers.get(x, [])
    divisions = [n for n in users if n.op_type == "Div" and graph.scalar(n.input[1]) is not None]
    if len(users) != 2 or len(divisions) != 1:
        return None
    return follow(graph, divisions[0].output[0], "Erf", "Add", "Mul", "Mul")


def match_layer_norm(graph, node):
    """The decomposed layer norm that starts at this ReduceMean: its output and nodes."""
    if node.op_type != "ReduceMean":
        return None
    found = graph.only_user(node.output[0])
    if found is None or found[0].op_type != "Sub":
        return None
    difference = found[0].output[0]
    powers = [n for n in graph.consumers.get(difference, []) if n.op_type == "Pow"]
    if not powers:
        return None
    return follow(graph, powers[0].output[0], "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add")


class Lister:
    def __init__(self, graph, merge):
        self.g, self.merge = graph, merge
        self.layers, self.taken, self.place, self.typed = [], set(), {}, set()

    def operand(self, name, kind=None, dims=None):
        storage = self.place.get(self.g.storage(name), self.g.storage(name))
        dims = self.g.shape[name] if dims is None else dims
        return f"{storage}:{kind or self.g.read_type(name)}:{text(dims)}"

    def take(self, first, last):
        """Marks what lies between as done: everything `last` needs that `first` leads to."""
        stack = [self.g.producer[last]]
        while stack:
            node = stack.pop()
            if id(node) in self.taken or self.g.order[id(node)] < self.g.order[id(first)]:
                continue
            self.taken.add(id(node))
            stack += [self.g.producer[i] for i in node.input if i in self.g.producer]

    def is_ready(self, name, node):
        """Whether `name` is there before `node` runs."""
        storage = self.g.storage(name)
        maker = self.g.producer.get(storage)
        return maker is None or self.g.order[id(maker)] < self.g.order[id(node)]

    def fuse_add(self, layer, node, at, root):
        """The other operand of an Add: a bias, a residual, or something broadcast."""
        g = self.g
        other = node.input[1] if node.input[0] == at else node.input[0]
        shape, mine = g.shape[other], g.shape[at]
        if g.is_constant(other) and len(shape) == 1 and layer.kind == "matmul" and not layer.post:
            layer.keys["bias"] = "f32"
        elif any(p.startswith(("sum", "add")) for p in layer.post) or not self.is_ready(other, root):
            return False
        elif shape == mine:
            layer.post.append("sum=" + self.operand(other))
        else:
            aligned = [1] * (len(mine) - len(shape)) + shape
            layer.post.append("add=" + self.operand(other, dims=aligned))
        return True

    def fuse(self, layer, root, name):
        """Takes in what follows a convolution or product; gives the last output."""
        g = self.g
        while True:
            gelu = match_gelu(g, name)
            if gelu is not None:
                layer.post.append("gelu")
                self.take(g.consumers[name][0], gelu)
                name = gelu
                continue
            found = g.only_user(name)
            if found is None or id(found[0]) in self.taken:
                return name
            node, at = found
            if node.op_type in ACTIVATIONS:
                layer.post.append(ACTIVATIONS[node.op_type])
            elif node.op_type == "Clip":
                layer.post.append("clip:%g:%g" % (g.scalar(node.input[1]), g.scalar(node.input[2])))
            elif node.op_type in ("Div", "Mul") and g.scalar(node.input[1]) is not None and not layer.post:
                value = g.scalar(node.input[1])
                layer.keys["scale"] = "%g" % (value if node.op_type == "Mul" else 1 / value)
            elif node.op_type == "BatchNormalization" and layer.kind == "conv" and not layer.post:
                layer.keys["bias"] = "f32"
            elif not (node.op_type == "Add" and self.fuse_add(layer, node, at, root)):
                return name
            self.taken.add(id(node))
            name = node.output[0]

    def finish(self, layer, root, name):
        last = self.fuse(layer, root, name)
        dims = layer.keys.pop("dims", None)
        kind, quantised = self.g.written_type(last), ":s8:" in layer.keys["src"] or ":u8:" in layer.keys["src"]
        layer.keys["dst"] = self.operand(last, kind if quantised else "f32", dims)
        self.layers.append(layer)
        if kind != "f32" and not quantised:  # no float product writes integers
            self.layers.append(Layer("reorder", last + "_q", src=layer.keys["dst"], dst=self.operand(last, kind, dims)))

    def attributes(self, node):
        return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def window(self, node, rank):
        a = self.attributes(node)
        keys = {"strides": text(a.get("strides", [1] * rank)), "pads": text(a.get("pads", [0] * 2 * rank))}
        keys["dilations"] = text(a.get("dilations", [1] * rank))
        return keys

    def conv(self, node):
        kernel = self.g.shape[node.input[1]]
        keys = {"src": self.operand(node.input[0])}
        keys["weights"] = f"{node.input[1]}:{self.g.read_type(node.input[1])}:{text(kernel)}"
        keys["groups"] = self.attributes(node).get("group", 1)
        keys.update(self.window(node, len(kernel) - 2))
        if len(node.input) > 2:
            keys["bias"] = "f32"
        self.finish(Layer("conv", node.output[0], **keys), node, node.output[0])

    def matmul(self, node):
        """Products by a constant are flattened to two dimensions."""
        g = self.g
        left, right = g.shape[node.input[0]], list(g.shape[node.input[1]])
        constant = g.is_constant(node.input[1])
        if self.attributes(node).get("transB"):
            right = right[:-2] + [right[-1], right[-2]]
        keys, out = {}, g.shape[node.output[0]]
        if constant and len(right) == 2:
            rows = 1
            for extent in left[:-1]:
                rows *= extent
            left, out = [rows, left[-1]], [rows, right[1]]
        keys["src"] = self.operand(node.input[0], dims=left)
        keys["weights"] = self.operand(node.input[1], dims=right)
        if constant:
            keys["constant"] = 1
        if len(node.input) > 2:
            keys["bias"] = "f32"
        self.finish(Layer("matmul", node.output[0], dims=out, **keys), node, node.output[0])

    def pool(self, node):
        g = self.g
        src, dst = g.shape[node.input[0]], g.shape[node.output[0]]
        keys = {"src": self.operand(node.input[0]), "algorithm": "max" if node.op_type == "MaxPool" else "avg"}
        if node.op_type.startswith("Global"):
            rank = len(src) - 2
            keys.update(kernel=text(src[2:]), strides=text([1] * rank), pads=text([0] * 2 * rank))
        else:
            keys["kernel"] = text(self.attributes(node)["kernel_shape"])
            keys.update(self.window(node, len(src) - 2))
        keys["dst"] = self.operand(node.output[0], g.written_type(node.output[0]), dst)
        self.layers.append(Layer("pool", node.output[0], **keys))

    def layer_norm(self, node, output):
        self.take(node, output)
        keys = {"src": self.operand(node.input[0]), "dst": self.operand(output, "f32")}
        self.layers.append(Layer("layer_norm", output, **keys))

    def softmax(self, node):
        axis = self.attributes(node).get("axis", -1) % len(self.g.shape[node.input[0]])
        out = node.output[0]
        self.layers.append(Layer("softmax", out, src=self.operand(node.input[0]), axis=axis,
                                 dst=self.operand(out, self.g.written_type(out))))

    def concat(self, node):
        keys = {f"src{i}": self.operand(name) for i, name in enumerate(node.input)}
        out = node.output[0]
        keys.update(count=len(node.input), axis=self.attributes(node)["axis"],
                    dst=self.operand(out, self.g.written_type(out)))
        self.layers.append(Layer("concat", out, **keys))

    def elementwise(self, node):
        """Constants of no more than a row, integers and scalars are no layer worth a primitive."""
        g, out = self.g, node.output[0]
        dims = g.shape[out]
        if node.op_type in ACTIVATIONS:
            layer = Layer("eltwise", out, src=self.operand(node.input[0]), post=ACTIVATIONS[node.op_type])
        else:
            aligned = [[1] * (len(dims) - len(g.shape[i])) + g.shape[i] for i in node.input]
            layer = Layer("binary", out, algorithm=ELEMENTWISE[node.op_type],
                          src=self.operand(node.input[0], dims=aligned[0]),
                          other=self.operand(node.input[1], dims=aligned[1]))
        layer.keys["dst"] = self.operand(out, g.written_type(out))
        self.layers.append(layer)

    def quantise(self, node):
        """A float tensor that others read as floats too: its quantisation is a pass of its own."""
        name, kind = self.g.storage(node.input[0]), self.g.quantised(node)
        if self.g.written_type(node.input[0]) != "f32" or (name, kind) in self.typed:
            return
        self.typed.add((name, kind))
        dims = self.g.shape[node.input[0]]
        self.layers.append(Layer("reorder", node.output[0], src=self.operand(node.input[0], "f32", dims),
                                 dst=self.operand(node.input[0], kind, dims)))

    def visit(self, node):
        kind, output = node.op_type, match_layer_norm(self.g, node)
        if output is not None:
            self.layer_norm(node, output)
        elif kind == "Conv":
            self.conv(node)
        elif kind in ("MatMul", "Gemm"):
            self.matmul(node)
        elif kind in ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"):
            self.pool(node)
        elif kind == "Softmax":
            self.softmax(node)
        elif kind == "Concat":
            self.concat(node)
        elif kind in ACTIVATIONS or kind in ELEMENTWISE:
            self.elementwise(node)
        elif kind == "QuantizeLinear":
            self.quantise(node)
        elif kind not in VIEWS:
            print(f"list_layers: {kind} {node.output[0]} is no layer", file=sys.stderr)

    def run(self):
        for node in self.g.nodes:
            if id(node) not in self.taken and not all(self.g.is_constant(o) for o in node.output):
                self.visit(node)
        if self.merge:
            self.layers = merge_products(self.layers)
        return self.layers


def merge_key(layer):
    if layer.kind != "matmul" or "constant" not in layer.keys or layer.post or "scale" in layer.keys:
        return None
    dims = layer.keys["weights"].split(":")[2]
    return layer.keys["src"], dims, layer.keys["dst"].split(":")[1], "bias" in layer.keys


def merge_products(layers):
    """Products of one operand with several constants become one; their readers see a part of its result."""
    groups, moved = {}, {}
    for layer in layers:
        groups.setdefault(merge_key(layer), []).append(layer)
    for key, group in groups.items():
        if key is None or len(group) < 2:
            continue
        rows, columns = map(int, group[0].keys["dst"].split(":")[2].split("x"))
        name, weights = "+".join(m.name for m in group), group[0].keys["weights"].split(":")
        for i, layer in enumerate(group):
            moved[layer.keys["dst"].split(":")[0]] = f"{name}@{i * rows * columns}"
        depth = weights[2].split("x")[0]
        group[0].name = name
        group[0].keys["weights"] = f"{weights[0]}:{weights[1]}:{depth}x{columns * len(group)}"
        group[0].keys["dst"] = f"{name}:{group[0].keys['dst'].split(':')[1]}:{rows}x{columns * len(group)}"
        for layer in group[1:]:
            layers.remove(layer)

    def rename(value):
        head, colon, rest = str(value).partition(":")
        return moved.get(head, head) + colon + rest

    for layer in layers:
        layer.keys = {k: rename(v) for k, v in layer.keys.items()}
    return layers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--split-products", action="store_true")
    options = parser.parse_args()
    for layer in Lister(Graph(options.model), not options.split_products).run():
        print(layer.line())


if __name__ == "__main__":
    main()
