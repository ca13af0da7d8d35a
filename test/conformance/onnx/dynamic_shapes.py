#!/usr/bin/python3
"""Random ONNX graphs with open extents, compiled once and run with several: the results are NumPy's.

    dynamic_shapes.py [--bin=build/bin] [--seed=0] [--count=100] [--ops=10] [--work=DIR]

A graph holds what exporters write where a shape is known at run time only: GroupNorm by Reshape and Shape,
Resize by scales and by sizes, Reshape by arithmetic on Shape, Slice to computed ends, Expand, Range and Gather,
attention over h * w tokens, auto_pad, If on an extent. Each is compiled with every line of WAYS and run with every line
of EXTENTS. A graph that fails stays in DIR, and its seed is printed."""

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print('skipped: no NumPy')
    sys.exit(77)

from onnx_wire import encode_varint

WAYS = {
    'O0': ['-O0'],
    'O2': ['-O2'],
    'dnnl': ['-O2', '--annotate=dnnl'],
    'dnnl-all': ['-O2', '--annotate=dnnl', '--cost-model=none'],
}
EXTENTS = [dict(n=1, h=8, w=8), dict(n=2, h=13, w=6), dict(n=3, h=5, w=16)]
CHANNELS = 8


# ONNX on the wire.

def field(number, value):
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return encode_varint(number << 3 | 5) + struct.pack('<f', value)
    value = value.encode() if isinstance(value, str) else value
    return encode_varint(number << 3 | 2) + encode_varint(len(value)) + value


ELEMENTS = {np.dtype(np.float32): 1, np.dtype(np.int64): 7, np.dtype(bool): 9}


def tensor(array, name=''):
    dims = b''.join(field(1, d) for d in array.shape)
    return dims + field(2, ELEMENTS[array.dtype]) + field(8, name) + field(9, np.ascontiguousarray(array).tobytes())


def attribute(name, value):
    if isinstance(value, float):
        body = field(2, value) + field(20, 1)
    elif isinstance(value, int):
        body = field(3, value) + field(20, 2)
    elif isinstance(value, str):
        body = field(4, value) + field(20, 3)
    elif isinstance(value, bytes):  # a graph
        body = field(6, value) + field(20, 5)
    else:
        body = b''.join(field(8, v) for v in value) + field(20, 7)
    return field(5, field(1, name) + body)


def value_info(name, dtype, dims=None):
    shape = b'' if dims is None else field(2, b''.join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims))
    return field(1, name) + field(2, field(1, field(1, ELEMENTS[np.dtype(dtype)]) + shape))


# What the operators mean.

def conv(x, w, b, strides, pads):
    p, k, s = pads[0], w.shape[2], strides[0]
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    oh, ow = (x.shape[2] - k) // s + 1, (x.shape[3] - k) // s + 1
    out = np.zeros((x.shape[0], w.shape[0], oh, ow), np.float64)
    for i in range(k):
        for j in range(k):
            part = x[:, :, i:i + (oh - 1) * s + 1:s, j:j + (ow - 1) * s + 1:s]
            out += np.einsum('nchw,oc->nohw', part.astype(np.float64), w[:, :, i, j])
    return (out + b[None, :, None, None]).astype(np.float32)


def pool(x, reduce):
    h, w = x.shape[2] // 2, x.shape[3] // 2
    return reduce([x[:, :, i:2 * h:2, j:2 * w:2] for i in (0, 1) for j in (0, 1)], axis=0)


def windows(x, k, s, upper, value):
    """Of auto_pad SAME_*: [k * k, n, c, h / s, w / s]."""
    sizes = [-(-d // s) for d in x.shape[2:]]
    totals = [max(0, (o - 1) * s + k - d) for o, d in zip(sizes, x.shape[2:])]
    begins = [t // 2 if upper else t - t // 2 for t in totals]
    x = np.pad(x, [(0, 0), (0, 0)] + [(b, t - b) for b, t in zip(begins, totals)], constant_values=value)
    oh, ow = sizes
    return np.array([x[:, :, i:i + (oh - 1) * s + 1:s, j:j + (ow - 1) * s + 1:s] for i in range(k) for j in range(k)])


def resized(x, axis, size, mode):
    n = x.shape[axis]
    if mode == 'nearest':  # asymmetric, floor
        at = np.minimum(np.floor(np.arange(size) / (size / n)).astype(int), n - 1)
        return np.take(x, at, axis)
    at = (np.arange(size) + 0.5) * n / size - 0.5  # half_pixel
    low = np.floor(at)
    t = (at - low).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    below, above = (np.take(x, np.clip(low + k, 0, n - 1).astype(int), axis) for k in (0, 1))
    return (below * (1 - t) + above * t).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Value:
    """A name, and what it is with each line of EXTENTS."""

    def __init__(self, name, arrays):
        self.name, self.arrays = name, arrays

    def shapes(self):
        return [a.shape for a in self.arrays]


class Graph:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numpy = np.random.RandomState(seed)
        self.nodes, self.initializers, self.count = [], [], 0
        self.inputs, self.input_info = {}, b''

    def name(self, prefix):
        self.count += 1
        return '%s%d' % (prefix, self.count)

    def input(self, name, dims):
        arrays = [self.numpy.standard_normal([e.get(d, d) for d in dims]).astype(np.float32) for e in EXTENTS]
        self.input_info += field(11, value_info(name, np.float32, dims))
        self.inputs[name] = Value(name, arrays)
        return self.inputs[name]

    def constant(self, array):
        name = self.name('c')
        self.initializers.append(field(5, tensor(array, name)))
        return Value(name, [array] * len(EXTENTS))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weight(self, *shape):
        fan = int(np.prod(shape[1:])) or 1
        return self.constant((self.numpy.standard_normal(shape) / np.sqrt(fan)).astype(np.float32))

    def op(self, kind, inputs, meaning, **attrs):
        """`meaning` takes the inputs' arrays of one line of EXTENTS; an input may be None."""
        name = self.name('v')
        self.nodes.append(field(1, b''.join(field(1, i.name if i else '') for i in inputs) + field(2, name) +
                                field(3, 'n' + name) + field(4, kind) + b''.join(attribute(k, v) for k, v in attrs.items())))
        return Value(name, [np.asarray(meaning(*[i.arrays[e] if i else None for i in inputs])) for e in range(len(EXTENTS))])

    # Shapes and what is made of them.
    def shape(self, x):
        return self.op('Shape', [x], lambda a: np.array(a.shape, np.int64))

    def extent(self, x, axis):  # of rank 1
        return self.op('Gather', [self.shape(x), self.ints(axis)], lambda s, i: s[i], axis=0)

    def concat(self, parts, axis=0):
        return self.op('Concat', parts, lambda *a: np.concatenate(a, axis), axis=axis)

    def integer(self, kind, a, b):
        meaning = {'Add': np.add, 'Sub': np.subtract, 'Mul': np.multiply, 'Div': lambda x, y: x // y}[kind]
        return self.op(kind, [a, b], meaning)

    def reshape(self, x, to):
        def meaning(a, s):
            return a.reshape([a.shape[i] if d == 0 else d for i, d in enumerate(s)])
        return self.op('Reshape', [x, to], meaning)

    def transpose(self, x, *perm):
        return self.op('Transpose', [x], lambda a: a.transpose(perm), perm=list(perm))

    def binary(self, kind, a, b):
        return self.op(kind, [a, b], {'Add': np.add, 'Sub': np.subtract, 'Mul': np.multiply, 'Div': np.divide}[kind])

    def slice(self, x, begin, end, axis, step):
        def meaning(a, b, e, ax, s):
            at = [slice(None)] * a.ndim
            at[int(ax[0])] = slice(int(b[0]), int(min(e[0], 1 << 40)), int(s[0]))
            return a[tuple(at)]
        return self.op('Slice', [x, begin, end, self.ints(axis), self.ints(step)], meaning)

    def resize(self, x, sizes, mode):
        def meaning(a, _roi, _scales, s):
            return resized(resized(a, 2, int(s[2]), mode), 3, int(s[3]), mode)
        how = dict(nearest=dict(coordinate_transformation_mode='asymmetric', nearest_mode='floor'),
                   linear=dict(coordinate_transformation_mode='half_pixel'))[mode]
        return self.op('Resize', [x, None, None, sizes], meaning, mode=mode, **how)

    def model(self, outputs):
        self.nodes += [field(1, field(1, v.name) + field(2, 'out%d' % i) + field(4, 'Identity')) for i, v in enumerate(outputs)]
        info = b''.join(field(12, value_info('out%d' % i, np.float32)) for i in range(len(outputs)))
        graph = b''.join(self.nodes) + field(2, 'g') + b''.join(self.initializers) + self.input_info + info
        return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 18))


# Steps: each takes an image [n, CHANNELS, h, w] and gives one.

def step_conv(g, x, _):
    k = g.random.choice([1, 3])
    s = g.random.choice([1, 1, 2])
    w, b = g.weight(CHANNELS, CHANNELS, k, k), g.weight(CHANNELS)
    p = k // 2
    return g.op('Conv', [x, w, b], lambda a, v, c: conv(a, v, c, [s, s], [p]), strides=[s, s], pads=[p] * 4)


def step_map(g, x, _):
    kind = g.random.choice(['Relu', 'Sigmoid', 'Tanh', 'Neg', 'LeakyRelu'])
    meaning = {'Relu': lambda a: np.maximum(a, 0), 'Sigmoid': lambda a: 1 / (1 + np.exp(-a)), 'Tanh': np.tanh,
               'Neg': np.negative, 'LeakyRelu': lambda a: np.where(a < 0, np.float32(0.01) * a, a)}[kind]
    return g.op(kind, [x], meaning)


def scale_and_shift(g, x):
    x = g.binary('Mul', x, g.weight(CHANNELS, 1, 1))
    return g.binary('Add', x, g.weight(CHANNELS, 1, 1))


def normalized(a, axes):
    a = a.astype(np.float64)
    return ((a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + 1e-3)).astype(np.float32)


def step_group_norm(g, x, _):
    groups = g.random.choice([2, 4])
    flat = g.reshape(x, g.ints(0, groups, -1))
    ones, zeros = g.constant(np.ones(groups, np.float32)), g.constant(np.zeros(groups, np.float32))
    normal = g.op('InstanceNormalization', [flat, ones, zeros], lambda a, _s, _b: normalized(a, (2,)), epsilon=1e-3)
    return scale_and_shift(g, g.reshape(normal, g.shape(x)))


def step_plain_norm(g, x, _):
    axes = g.ints(2, 3) if g.random.random() < 0.5 else g.ints(1)
    over = tuple(int(a) for a in axes.arrays[0])

    def mean(v):
        return g.op('ReduceMean', [v, axes], lambda a, _: a.mean(over, keepdims=True, dtype=np.float64).astype(np.float32))
    centred = g.binary('Sub', x, mean(x))
    variance = mean(g.binary('Mul', centred, centred))
    root = g.op('Sqrt', [g.binary('Add', variance, g.constant(np.array(1e-3, np.float32)))], np.sqrt)
    return scale_and_shift(g, g.binary('Div', centred, root))


def step_resize_up(g, x, _):
    mode = g.random.choice(['nearest', 'linear'])
    spatial = g.slice(g.shape(x), g.ints(2), g.ints(4), 0, 1)
    sizes = g.concat([g.slice(g.shape(x), g.ints(0), g.ints(2), 0, 1), g.integer('Mul', spatial, g.ints(2, 2))])
    return g.resize(x, sizes, mode)


def step_resize_like(g, x, earlier):
    like = g.random.choice(earlier)
    sizes = g.concat([g.slice(g.shape(x), g.ints(0), g.ints(2), 0, 1), g.slice(g.shape(like), g.ints(2), g.ints(4), 0, 1)])
    return g.resize(x, sizes, g.random.choice(['nearest', 'linear']))


def step_slice(g, x, _):
    axis = g.random.choice([2, 3])
    if g.random.random() < 0.5:
        return g.slice(x, g.ints(g.random.choice([0, 1])), g.ints((1 << 63) - 1), axis, 2)
    end = g.integer('Sub', g.extent(x, axis), g.ints(1))
    return g.slice(x, g.ints(g.random.choice([0, 1])), end, axis, 1)


def step_half(g, x, _):
    axis = g.random.choice([2, 3])
    half = g.integer('Div', g.extent(x, axis), g.ints(2))
    first, second = g.slice(x, g.ints(0), half, axis, 1), g.slice(x, half, g.extent(x, axis), axis, 1)
    return g.concat([second, first], axis)


def step_pad(g, x, _):
    pads = g.ints(0, 0, 1, 0, 0, 0, 0, 2)
    return g.op('Pad', [x, pads], lambda a, _: np.pad(a, ((0, 0), (0, 0), (1, 0), (0, 2))))


def step_pool(g, x, _):
    if g.random.random() < 0.5:
        return g.op('MaxPool', [x], lambda a: pool(a, np.max), kernel_shape=[2, 2], strides=[2, 2])
    return g.op('AveragePool', [x], lambda a: pool(a, np.mean), kernel_shape=[2, 2], strides=[2, 2])


def step_same(g, x, _):
    upper, s = g.random.choice([True, False]), g.random.choice([1, 2, 2, 3])
    k = g.random.choice([n for n in (1, 2, 3, 4) if n + 1 >= s])
    attrs = dict(auto_pad='SAME_UPPER' if upper else 'SAME_LOWER', strides=[s, s], kernel_shape=[k, k])
    kind = g.random.choice(['Conv', 'Conv', 'MaxPool', 'AveragePool'])
    if kind == 'Conv':
        def meaning(a, w):
            parts = windows(a, k, s, upper, 0).astype(np.float64)
            return np.einsum('tnchw,oct->nohw', parts, w.reshape(CHANNELS, CHANNELS, k * k)).astype(np.float32)
        return g.op(kind, [x, g.weight(CHANNELS, CHANNELS, k, k)], meaning, **attrs)
    if kind == 'MaxPool':
        return g.op(kind, [x], lambda a: windows(a, k, s, upper, -np.inf).max(0), **attrs)
    counts = g.random.choice([0, 1])

    def mean(a):
        sums = windows(a, k, s, upper, 0).sum(0, dtype=np.float64)
        return (sums / (k * k if counts else windows(np.ones_like(a), k, s, upper, 0).sum(0))).astype(np.float32)
    return g.op(kind, [x], mean, count_include_pad=counts, **attrs)


def step_join(g, x, earlier):
    same = [v for v in earlier if v.shapes() == x.shapes()]
    other = g.random.choice(same) if same else x
    if g.random.random() < 0.6:
        return g.binary(g.random.choice(['Add', 'Mul', 'Sub']), x, other)
    both = g.concat([x, other], 1)
    w, b = g.weight(CHANNELS, 2 * CHANNELS, 1, 1), g.weight(CHANNELS)
    return g.op('Conv', [both, w, b], lambda a, v, c: conv(a, v, c, [1, 1], [0]))


def step_gate(g, x, _):
    mean = g.op('GlobalAveragePool', [x], lambda a: a.mean((2, 3), keepdims=True))
    gate = g.op('Sigmoid', [mean], lambda a: 1 / (1 + np.exp(-a)))
    if g.random.random() < 0.5:
        gate = g.op('Expand', [gate, g.shape(x)], lambda a, s: np.broadcast_to(a, s))
    return g.binary('Mul', x, gate)


def step_tokens(g, x, _):
    n, h, w = (g.extent(x, axis) for axis in (0, 2, 3))
    rows = g.reshape(g.transpose(x, 0, 2, 3, 1), g.concat([n, g.integer('Mul', h, w), g.ints(CHANNELS)]))
    if g.random.random() < 0.5:
        rows = g.op('LayerNormalization', [rows, g.weight(CHANNELS)], lambda a, s: normalized(a, (2,)) * s, axis=-1, epsilon=1e-3)
    rows = g.op('MatMul', [rows, g.weight(CHANNELS, CHANNELS)], np.matmul)
    if g.random.random() < 0.5:
        heads = 2
        per = CHANNELS // heads

        def split(weights):
            part = g.op('MatMul', [rows, weights], np.matmul)
            return g.transpose(g.reshape(part, g.ints(0, -1, heads, per)), 0, 2, 1, 3)
        q, k, v = (split(g.weight(CHANNELS, CHANNELS)) for _ in range(3))
        scores = g.op('MatMul', [q, g.transpose(k, 0, 1, 3, 2)], np.matmul)
        scores = g.binary('Mul', scores, g.constant(np.array(per ** -0.5, np.float32)))
        weights = g.op('Softmax', [scores], softmax, axis=-1)
        mixed = g.transpose(g.op('MatMul', [weights, v], np.matmul), 0, 2, 1, 3)
        rows = g.binary('Add', rows, g.reshape(mixed, g.shape(rows)))
    back = g.reshape(rows, g.concat([n, h, w, g.ints(CHANNELS)]))
    return g.transpose(back, 0, 3, 1, 2)


def step_gather(g, x, _):
    axis = g.random.choice([2, 3])
    extent = g.op('Squeeze', [g.extent(x, axis)], np.squeeze)
    zero, one = g.constant(np.array(0, np.int64)), g.constant(np.array(1, np.int64))
    forward = g.op('Range', [zero, extent, one], lambda a, b, s: np.arange(a, b, s))
    backward = g.op('Sub', [g.integer('Sub', extent, one), forward], np.subtract)
    return g.op('Gather', [x, backward], lambda a, i: np.take(a, i, axis), axis=axis)


def step_split(g, x, _):
    half = CHANNELS // 2
    low, high = g.slice(x, g.ints(0), g.ints(half), 1, 1), g.slice(x, g.ints(half), g.ints(CHANNELS), 1, 1)
    low = g.op('Sigmoid', [low], lambda a: 1 / (1 + np.exp(-a)))
    return g.concat([g.binary('Mul', high, low), low], 1)


def step_shuffle(g, x, _):
    n, h, w = (g.extent(x, axis) for axis in (0, 2, 3))
    apart = g.reshape(x, g.concat([n, g.ints(2, CHANNELS // 2), h, w]))
    return g.reshape(g.transpose(apart, 0, 2, 1, 3, 4), g.concat([n, g.ints(CHANNELS), h, w]))


def step_if(g, x, _):
    many = g.op('Greater', [g.op('Squeeze', [g.extent(x, 2)], np.squeeze), g.constant(np.array(6, np.int64))], np.greater)
    names = [g.name('b') for _ in range(2)]
    branches = [field(1, field(1, x.name) + field(2, name) + field(4, kind)) + field(2, name) + field(12, value_info(name, np.float32))
                for name, kind in zip(names, ('Relu', 'Tanh'))]
    value = g.op('If', [many], lambda c: None, then_branch=branches[0], else_branch=branches[1])
    value.arrays = [np.maximum(a, 0) if c else np.tanh(a) for a, c in zip(x.arrays, many.arrays)]
    return value


STEPS = [step_conv, step_conv, step_map, step_map, step_group_norm, step_group_norm, step_plain_norm, step_resize_up,
         step_resize_like, step_slice, step_half, step_pad, step_pool, step_same, step_same, step_join, step_join,
         step_gate, step_tokens, step_tokens, step_gather, step_split, step_shuffle, step_if]


def fits(value):
    # Pools and slices need rows; what is too large only takes time.
    return all(3 <= s[2] <= 40 and 3 <= s[3] <= 40 and np.isfinite(a).all() and np.abs(a).max() < 1e3
               for s, a in zip(value.shapes(), value.arrays))


def random_graph(seed, ops):
    g = Graph(seed)
    values = [g.input('x', ['n', CHANNELS, 'h', 'w'])]
    if g.random.random() < 0.3:
        values.append(g.input('y', ['n', CHANNELS, 'h', 'w']))
    while len(values) < ops:
        x = g.random.choice(values[-3:])
        state = len(g.nodes), len(g.initializers)
        made = g.random.choice(STEPS)(g, x, values)
        if fits(made):
            values.append(made)
        else:
            del g.nodes[state[0]:], g.initializers[state[1]:]
    outputs = [values[-1]] + g.random.sample(values[1:-1], g.random.choice([0, 1, 2]))
    outputs += [g.op('ReduceSum', [values[-2], g.ints(2, 3)], lambda a, _: a.sum((2, 3), keepdims=True))]
    return g, outputs


def difference(got, wanted):
    if got.shape != wanted.shape:
        return 'shape %s, wanted %s' % (got.shape, wanted.shape)
    far = np.abs(got.astype(np.float64) - wanted) - 1e-3 * np.abs(wanted)
    most = 1e-4 * max(np.abs(wanted).max(), 1)
    return '' if (far <= most).all() else 'beyond the tolerance by %g of %g' % (far.max(), np.abs(wanted).max())


def check(args, seed, folder):
    """What fails, '' for nothing."""
    g, outputs = random_graph(seed, args.ops)
    model = os.path.join(folder, 'net.onnx')
    with open(model, 'wb') as file:
        file.write(g.model(outputs))
    for e in range(len(EXTENTS)):
        os.makedirs('%s/in%d' % (folder, e))
        for name, value in g.inputs.items():
            np.save('%s/in%d/%s.npy' % (folder, e, name), value.arrays[e])
    for way, flags in WAYS.items():
        stem = os.path.join(folder, way)
        built = subprocess.run([args.bin + '/bycc', model, *flags, '-q', '-o', stem + '.o'], capture_output=True, text=True)
        if built.returncode != 0:
            return '%s: exit %d: %s' % (way, built.returncode, built.stderr.strip()[:400])
        for e in range(len(EXTENTS)):
            out = '%s.out%d' % (stem, e)
            ran = subprocess.run([args.bin + '/bycc-run', stem + '.json', '--inputs', '%s/in%d' % (folder, e), '--outputs', out,
                                  '--threads', '1', '-q'], capture_output=True, text=True)
            if ran.returncode != 0:
                return '%s, %s: exit %d: %s' % (way, EXTENTS[e], ran.returncode, ran.stderr.strip()[:400])
            for i, wanted in enumerate(outputs):
                if why := difference(np.load('%s/out%d.npy' % (out, i)), wanted.arrays[e]):
                    return '%s, %s: out%d: %s' % (way, EXTENTS[e], i, why)
    return ''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', default='build/bin')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--ops', type=int, default=10)
    parser.add_argument('--work')
    args = parser.parse_args()
    work = args.work or tempfile.mkdtemp()
    failed = 0
    for seed in range(args.seed, args.seed + args.count):
        folder = os.path.join(work, str(seed))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if why := check(args, seed, folder):
            failed += 1
            print('seed %d (%s): %s' % (seed, folder, why), flush=True)
        else:
            shutil.rmtree(folder)
    print('%d graphs, %d failed' % (args.count, failed))
    if not failed and not args.work:
        os.rmdir(work)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
