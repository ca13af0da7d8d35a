#!/usr/bin/env python3
"""Writes the *.json files beside it: inputs, attributes and expected results of
operators, computed with NumPy and not by bycc. Needed only to add cases:

    python3 make_cases.py

A case is {"attrs", "inputs", "outputs"} or {"attrs", "inputs", "error"}; a tensor
is {"dtype", "shape", "data"}, a tuple operand {"tuple": [tensors]}.
"""
import itertools
import json
import math
import os

import numpy as np

import library_cases
import qnn_cases

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.RandomState(7)
CASES = {}
f32, f64, i32, i64, i8, u8 = np.float32, np.float64, np.int32, np.int64, np.int8, np.uint8


class Tuple(list):
    pass


class Typed:
    """Data of a dtype that NumPy lacks (bfloat16)."""
    def __init__(self, dtype, data):
        self.dtype, self.data = dtype, np.asarray(data)


def rand(*shape, dtype=f32, low=-2, high=2):
    if np.issubdtype(dtype, np.integer):
        return rng.randint(low, high + 1, shape).astype(dtype)
    return np.round(rng.uniform(low, high, shape), 2).astype(dtype)


def number(value):
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    value = float(value)
    if math.isnan(value):
        return 'nan'
    if math.isinf(value):
        return 'inf' if value > 0 else '-inf'
    return float('%.9g' % value)


def tensor(x):
    if isinstance(x, Tuple):
        return {'tuple': [tensor(t) for t in x]}
    if isinstance(x, Typed):
        return {'dtype': x.dtype, 'shape': list(x.data.shape),
                'data': [number(v) for v in x.data.ravel()]}
    x = np.asarray(x)
    return {'dtype': str(x.dtype), 'shape': list(x.shape), 'data': [number(v) for v in x.ravel()]}


def steps(*shape, dtype=f32):  # sums of products of them are exact
    return ((np.arange(np.prod(shape)) * 7 % 23 - 11) * 0.25).astype(dtype).reshape(shape)


def case(op, inputs, outputs, **attrs):
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    CASES.setdefault(op, []).append(
        {'attrs': attrs, 'inputs': [tensor(x) for x in inputs],
         'outputs': [tensor(x) for x in outputs]})


def fails(op, inputs, error, status='INPUT', **attrs):
    CASES.setdefault(op, []).append(
        {'attrs': attrs, 'inputs': [tensor(x) for x in inputs], 'error': error, 'status': status})


nan, inf = np.nan, np.inf
rng_places = np.random.default_rng(5)

# --- unary
special = np.array([nan, inf, -inf, 0.0, 1.5, -2.5], f32)
erf = np.vectorize(math.erf)
unary = {
    'abs': np.abs, 'negative': np.negative, 'exp': np.exp, 'sigmoid': lambda x: 1 / (1 + np.exp(-x)),
    'tanh': np.tanh, 'erf': lambda x: erf(x).astype(x.dtype), 'sign': np.sign, 'sin': np.sin,
    'cos': np.cos, 'tan': np.tan, 'atan': np.arctan, 'sinh': np.sinh, 'cosh': np.cosh,
    'asinh': np.arcsinh, 'floor': np.floor, 'ceil': np.ceil, 'trunc': np.trunc,
    'round': lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), 'copy': lambda x: x,
    'fast_exp': np.exp, 'fast_tanh': np.tanh, 'fast_erf': lambda x: erf(x).astype(x.dtype),
    'zeros_like': np.zeros_like, 'ones_like': np.ones_like,
    'nn.relu': lambda x: np.where(x < 0, 0, x).astype(x.dtype),
}
for name, fn in unary.items():
    x = rand(2, 5)
    with np.errstate(all='ignore'):
        case(name, [x], fn(x))
        case(name, [special], fn(special)) if name not in ('sin', 'cos', 'tan') else None
    case(name, [np.zeros((0, 3), f32)], np.zeros((0, 3), f32))
    case(name, [np.float16(x)], fn(x.astype(np.float16).astype(f32)).astype(np.float16))
for name, fn, low, high in [('log', np.log, 0.1, 4), ('log2', np.log2, 0.1, 4), ('log10', np.log10, 0.1, 4),
                            ('sqrt', np.sqrt, 0, 4), ('rsqrt', lambda x: 1 / np.sqrt(x), 0.1, 4),
                            ('asin', np.arcsin, -1, 1), ('acos', np.arccos, -1, 1),
                            ('acosh', np.arccosh, 1, 3), ('atanh', np.arctanh, -0.9, 0.9)]:
    x = rand(3, 4, low=low, high=high)
    case(name, [x], fn(x))
    fails(name, [rand(2, dtype=i32)], 'takes floats')
case('abs', [np.array([-128, 127, -1], i8)], np.array([-128, 127, 1], i8))
case('negative', [np.array([-128, 5, 200], i64)], np.array([128, -5, -200], i64))
case('round', [np.array([0.5, -0.5, 1.5, 2.5, -2.5], f32)], np.array([1, -1, 2, 3, -3], f32))
halves = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609, nan, inf, -inf, -0.2], f32)
case('rint', [halves], np.rint(halves))
case('rint', [np.float16([0.5, 1.5, -2.5])], np.float16([0, 2, -2]))
case('rint', [np.array([-3, 0, 9], i32)], np.array([-3, 0, 9], i32))
case('sign', [np.array([-3, 0, 9], i32)], np.array([-1, 0, 1], i32))
case('nn.relu', [np.array([-3, 0, 9], i8)], np.array([0, 0, 9], i8))
case('logical_not', [np.array([True, False])], np.array([False, True]))
case('bitwise_not', [np.array([0, 5, -1], i32)], np.array([-1, -6, 0], i32))
case('bitwise_not', [np.array([0, 5], u8)], np.array([255, 250], u8))
case('isnan', [special], np.isnan(special))
case('isinf', [special], np.isinf(special))
case('isfinite', [special], np.isfinite(special))
x = np.array([nan, -5, 0.3, 5], f32)
case('clip', [x], np.array([nan, -1, 0.3, 2], f32), a_min=-1.0, a_max=2.0)
case('clip', [np.array([-5, 1, 9], i32)], np.array([0, 1, 6], i32), a_min=0, a_max=6)
fails('clip', [x], 'attribute a_max must be given', a_min=0.0)
fails('clip', [x], 'attribute a_min is a number', a_min='x', a_max=1.0)
case('cast', [np.array([1.9, -1.9, nan, 300, -300], f32)], np.array([1, -1, 0, 127, -128], i8), dtype='int8')
# Truncated; out of range the nearest bound, NaN 0. In rows that vectors and their rest take.
for to in ('int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'):
    low, high = (int(bound) for bound in (np.iinfo(to).min, np.iinfo(to).max))
    for made in (f32, f64):
        edges = [made(v) for v in (nan, inf, -inf, -0.0, 0.75, -0.75, 1.5, -1.5, 100.25, -100.25, 1e30, -1e30)]
        if made is f32:
            edges += [np.nextafter(made(e), made(to)) for e in (low, 2.0 * (high // 2 + 1)) for to in (-inf, inf)]
        edges += [made(low), made(2.0 * (high // 2 + 1))]
        row = (edges * 3)[:2 * len(edges) + 5]
        wanted = [0 if math.isnan(v) else high if v >= high else low if v <= low else int(v) for v in row]
        case('cast', [np.array(row, made)], np.array(wanted, to), dtype=to)
case('cast', [np.array([300, -1], i32)], np.array([44, 255], u8), dtype='uint8')
case('cast', [np.array([-1, 0, 2], i32)], np.array([True, False, True]), dtype='bool')
case('cast', [np.array([1, 70000], i32)], np.array([1, inf], np.float16), dtype='float16')
case('cast', [np.array([1.00390625], f32)], Typed('bfloat16', np.array([1.0])), dtype='bfloat16')
case('cast', [Typed('bfloat16', [1.5, -2.0])], np.array([1.5, -2], f32), dtype='float32')
case('cast', [np.array([2**63 - 1], i64)], np.array([2**63], f64), dtype='float64')
fails('cast', [x], 'attribute dtype is a dtype', dtype='float33')
case('cast_like', [np.array([1.7], f32), np.array([0], i64)], np.array([1], i64))
case('reinterpret', [np.array([1.0], f32)], np.array([0x3f800000], i32), dtype='int32')
fails('reinterpret', [x], 'same width', dtype='int64')
case('full', [np.array(3, f32)], np.full((2, 2), 3, f32), shape=[2, 2])
fails('full', [np.array(3, f32)], 'negative size', shape=[2, -2])
fails('full', [np.array(3, f32)], 'larger than 16 GiB', status='LIMIT', shape=[2**62, 4])
fails('full', [np.array(3, f32)], 'larger than 16 GiB', status='LIMIT', shape=[2**32, 2**32])
fails('full', [np.array(3, f32)], 'the limit is 32', status='LIMIT', shape=[1] * 33)
case('full_like', [x, np.array(3, f32)], np.full(4, 3, f32))
case('zeros', [], np.zeros((2, 1), f32), shape=[2, 1])
case('ones', [], np.ones((2, 1), i64), shape=[2, 1], dtype='int64')
x = rand(2, 3, 4)
case('trilu', [x, np.array(1, i64)], np.triu(x, 1))
case('trilu', [x, np.array(-1, i64)], np.tril(x, -1), upper=False)


def fixed(v, m, s):
    left, right = max(s, 0), max(-s, 0)
    return ((v << left) * m + (1 << (30 + right))) >> (31 + right)


v = [100, -77, 1 << 20]
case('fixed_point_multiply', [np.array(v, i32)],
     np.array([fixed(a, 1518500250, -2) for a in v], i32), multiplier=1518500250, shift=-2)

# --- binary
a, b = rand(2, 3), rand(2, 3)
wide, narrow = rand(2, 1, 3), rand(4, 1)
ia, ib = np.array([7, -7, 7, -7, 5], i32), np.array([2, 2, -2, -2, 0], i32)


def safe(fn):
    return np.array([0 if y == 0 else fn(int(x), int(y)) for x, y in zip(ia, ib)], i32)


binary = {'add': np.add, 'subtract': np.subtract, 'multiply': np.multiply, 'divide': np.divide,
          'maximum': np.maximum, 'minimum': np.minimum}
for name, fn in binary.items():
    case(name, [a, b], fn(a, b))
    case(name, [wide, narrow], fn(wide, narrow))
    case(name, [a, np.array(2, f32)], fn(a, f32(2)))
    case(name, [np.float16(a), np.float16(b)], fn(np.float16(a), np.float16(b)))
    fails(name, [rand(2, 3), rand(4)], 'do not broadcast')
    fails(name, [a, a.astype(f64)], 'lhs is float32, rhs is float64')
    fails(name, [a], 'takes 2 inputs, got 1')
for name in ('maximum', 'minimum'):
    case(name, [np.array([nan, 1, 2], f32), np.array([1, nan, 3], f32)],
         binary[name](np.array([nan, 1, 2], f32), np.array([1, nan, 3], f32)))
    case(name, [np.array([1, -2], f32), np.array(nan, f32)], np.array([nan, nan], f32))
case('add', [np.array([120, -120], i8), np.array([10, -10], i8)], np.array([-126, 126], i8))
case('add', [np.zeros((0, 3), f32), rand(3)], np.zeros((0, 3), f32))
case('multiply', [np.array([2**40], i64), np.array([2**40], i64)], np.array([0], i64))
case('divide', [ia, ib], safe(lambda x, y: int(x / y)))
case('trunc_divide', [ia, ib], safe(lambda x, y: int(x / y)))
case('floor_divide', [ia, ib], safe(lambda x, y: x // y))
case('mod', [ia, ib], safe(math.fmod))
case('trunc_mod', [ia, ib], safe(math.fmod))
case('floor_mod', [ia, ib], safe(lambda x, y: x % y))
fa, fb = np.array([7.5, -7.5, 7.5], f32), np.array([2, 2, -2], f32)
case('floor_divide', [fa, fb], np.floor(fa / fb))
case('mod', [fa, fb], np.fmod(fa, fb))
case('floor_mod', [fa, fb], np.mod(fa, fb))
case('trunc_divide', [fa, fb], np.trunc(fa / fb))
case('power', [np.abs(a), b], np.power(np.abs(a), b))
case('power', [np.array([2, -3, 2, -1], i32), np.array([10, 3, -1, -3], i32)], np.array([1024, -27, 0, -1], i32))
for name, fn in {'equal': np.equal, 'not_equal': np.not_equal, 'less': np.less, 'less_equal': np.less_equal,
                 'greater': np.greater, 'greater_equal': np.greater_equal}.items():
    p, q = rand(6, dtype=i32), rand(6, dtype=i32)
    case(name, [p, q], fn(p, q))
    p, q = np.array([nan, 1, 2], f32), np.array([nan, 1, 3], f32)
    case(name, [p, q], fn(p, q))
    case(name, [np.array([2**64 - 1], np.uint64), np.array([1], np.uint64)],
         fn(np.array([2**64 - 1], np.uint64), np.array([1], np.uint64)))
p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
for name, fn in {'logical_and': np.logical_and, 'logical_or': np.logical_or, 'logical_xor': np.logical_xor}.items():
    case(name, [p, q], fn(p, q))
    fails(name, [a, b], 'an input is bool')
p, q = rand(5, dtype=i32, low=-99, high=99), rand(5, dtype=i32, low=-99, high=99)
for name, fn in {'bitwise_and': np.bitwise_and, 'bitwise_or': np.bitwise_or, 'bitwise_xor': np.bitwise_xor}.items():
    case(name, [p, q], fn(p, q))
    fails(name, [a, b], 'takes integers')
s = np.array([0, 1, 3, 31, 2], i32)
case('left_shift', [p, s], (p.astype(i64) << s).astype(i32))
case('right_shift', [p, s], p >> s)
c = np.array([[True], [False]])
case('where', [c, a, np.array(5, f32)], np.where(c, a, f32(5)))
fails('where', [a, a, a], 'condition is bool')
x = rand(3, 1)
case('broadcast_to', [x], np.broadcast_to(x, (2, 3, 4)), shape=[2, 3, 4])
case('broadcast_to_like', [x, rand(3, 2)], np.broadcast_to(x, (3, 2)))
fails('broadcast_to', [x], 'does not broadcast', shape=[2, 2])
x = rand(2, 3, 4)
case('collapse_sum_to', [x], x.sum(0).sum(1, keepdims=True), shape=[3, 1])
case('collapse_sum_like', [x, rand(4)], x.sum((0, 1)))

# --- reductions
x = rand(2, 3, 4)
for name, fn in {'sum': np.sum, 'prod': np.prod, 'max': np.max, 'min': np.min, 'mean': np.mean}.items():
    case(name, [x], fn(x))
    case(name, [x], fn(x, axis=1), axis=[1])
    case(name, [x], fn(x, axis=(0, 2), keepdims=True), axis=[0, -1], keepdims=True)
    case(name, [x], fn(x, axis=(0, 2)), axis=1, exclude=True)
    case(name, [x], x, axis=[])
    fails(name, [x], 'out of range for rank 3', axis=3)
    fails(name, [x], 'twice', axis=[1, -2])
empty = np.zeros((2, 0), f32)
case('sum', [empty], np.zeros(2, f32), axis=1)
case('prod', [empty], np.ones(2, f32), axis=1)
case('max', [empty], np.full(2, -inf, f32), axis=1)
case('mean', [np.array([-7, 2], i32)], np.array(-2, i32))
case('sum', [np.array([100, 100], i8)], np.array(-56, i8))
case('max', [np.array([1, nan, 2], f32)], np.array(nan, f32))
case('max', [np.zeros((0,), i8)], np.array(-128, i8))
t = np.array([[True, True], [True, False]])
case('all', [t], np.all(t, 1), axis=1)
case('any', [~t], np.any(~t, 1), axis=1)
x = np.array([[3, 1, 3], [0, 9, 9]], f32)
case('argmax', [x], np.array([0, 1], i32), axis=1)
case('argmax', [x], np.array([2, 2], i32), axis=1, select_last_index=True)
case('argmax', [x], np.array(4, i32))
case('argmin', [x], np.argmin(x, 0).astype(i32)[None], axis=0, keepdims=True)
fails('argmax', [empty], 'no element to choose', axis=1)
# Rows of more than some vectors: ties, infinities, and what is no number, which is the best.
wide = np.round(rng_places.uniform(-9, 9, (5, 3, 67))).astype(f32)
wide[1] = -inf
wide[2, 1, 40] = nan
wide[3, :, 3] = wide[3, :, 60] = nan
wide[4, 2] = inf
for axis in (2, (1, 2), 0, 1, None):
    rows = wide.reshape(-1) if axis is None else wide.reshape(5, -1) if axis == (1, 2) else wide
    of = -1 if axis in (None, (1, 2)) else axis
    for name, find in (('argmax', np.argmax), ('argmin', np.argmin)):
        first = find(rows, of)
        last = rows.shape[of] - 1 - find(np.flip(rows, of), of)
        given = {} if axis is None else {'axis': list(axis) if axis == (1, 2) else axis}
        case(name, [wide], np.asarray(first, i32), **given)
        case(name, [wide], np.asarray(last, i32), select_last_index=True, **given)
case('argmax', [wide[:1].astype(i8)], np.argmax(wide[:1], 2).astype(i32), axis=2)
x = rand(3, 4)
m = x.mean(1, keepdims=True)
case('variance', [x, m], x.var(1), axis=1)
case('variance', [x, m], x.var(1, ddof=1, keepdims=True), axis=1, unbiased=True, keepdims=True)
case('cumsum', [x], np.cumsum(x, 1), axis=1)
case('cumsum', [x], np.cumsum(x))
case('cumsum', [x], np.cumsum(x, 0) - x, axis=0, exclusive=True)
case('cumprod', [x], np.cumprod(x, 0), axis=0)
case('cumsum', [np.array([200, 100], u8)], np.array([200, 300], i32), axis=0, dtype='int32')

# --- movement
x = rand(2, 3, 4)
case('reshape', [x], x.reshape(6, 4), newshape=[6, 4])
case('reshape', [x], x.reshape(2, 12), newshape=[0, -1])
case('reshape', [x], x.reshape(2, 3, 4), newshape=[-2])
case('reshape', [x], x.reshape(6, 4), newshape=[-3, -2])
case('reshape', [x], x.reshape(2, 3, 2, 2), newshape=[0, 0, -4, 2, -1])
case('reshape', [np.zeros((0, 3), f32)], np.zeros((3, 0), f32), newshape=[3, 0], allowzero=1)
fails('reshape', [x], '-1 twice', newshape=[-1, -1])
fails('reshape', [x], 'has 24 elements, the new shape 25', newshape=[25])
fails('reshape', [x], 'not a multiple of 5', newshape=[5, -1])
fails('reshape', [x], 'unknown code -9', newshape=[-9])
fails('reshape', [x], 'overflows', status='LIMIT', newshape=[2**62, 4])
fails('reshape', [x], 'unknown attribute new_shape, did you mean newshape', new_shape=[24])
case('dyn.reshape', [x, np.array([4, 6], i64)], x.reshape(4, 6))
case('contrib_reverse_reshape', [x], x.reshape(6, 4), newshape=[-1, 0])
case('reshape_like', [x, rand(4, 6)], x.reshape(4, 6))
case('reshape_like', [x, rand(6)], x.reshape(6, 4), lhs_end=2)
case('nn.batch_flatten', [x], x.reshape(2, 12))
case('transpose', [x], x.T, axes=None)
case('transpose', [x], x.transpose(1, 2, 0), axes=[1, -1, 0])
# More than a vector along both axes, and no whole number of them.
wide = steps(2, 19, 21)
case('transpose', [wide], wide.transpose(0, 2, 1), axes=[0, 2, 1])
case('transpose', [wide[0].astype(f64)], wide[0].T.astype(f64), axes=None)
case('transpose', [wide.astype(i8)], wide.astype(i8).transpose(2, 0, 1), axes=[2, 0, 1])
fails('transpose', [x], 'names axis 1 twice', axes=[1, 1, 0])
fails('transpose', [x], 'axes has 3 values, got 2', axes=[1, 0])
case('expand_dims', [x], x[:, :, :, None, None], axis=-1, num_newaxis=2)
case('expand_dims', [x], x[:, None], axis=1)
fails('expand_dims', [x], 'out of range', axis=5)
case('squeeze', [x[None, :, None]], x, axis=None)
case('squeeze', [x[None, :, None]], x[:, None], axis=[0])
fails('squeeze', [x], 'axis 1 has 3 elements, not 1', axis=[1])
y = rand(2, 1, 4)
case('concatenate', [Tuple([x, y])], np.concatenate([x, y], 1), axis=1)
case('concatenate', [Tuple([x, x[:, :0], y])], np.concatenate([x, y], 1), axis=-2)
fails('concatenate', [Tuple([x, y])], 'axis 1 is 3 in one input, 1 in another')
fails('concatenate', [x], 'takes a tuple')
fails('concatenate', [Tuple([x, y.astype(f64)])], 'float32 and float64', axis=1)
case('stack', [Tuple([x, x + 1])], np.stack([x, x + 1], 2), axis=2)
case('split', [x], np.split(x, 2, 2), indices_or_sections=2, axis=2)
case('split', [x], np.split(x, [1, 1, 3], 2), indices_or_sections=[1, 1, 3], axis=2)
fails('split', [x], 'not a multiple of 2', indices_or_sections=2, axis=1)
fails('split', [x], 'at least 1 part', indices_or_sections=0)
case('strided_slice', [x], x[:, 1:3, ::-2], begin=[0, 1, 3], end=[2, 3, -100], strides=[1, 1, -2])
case('strided_slice', [x], x[:, :, -3:-1], begin=[-3], end=[-1], strides=[1], axes=[2])
case('strided_slice', [x], x[1:2, 0:3], begin=[1, 0], end=[1, -1], strides=[1], slice_mode='size', axes=None)
case('strided_slice', [x], x[:, 3:], begin=[0, 3], end=[2, 9], strides=[1, 1], axes=None)
for entry in CASES['strided_slice']:
    entry['attrs'].setdefault('axes', None)
fails('strided_slice', [x], 'strides hold a 0', begin=[0], end=[1], strides=[0], axes=None)
case('dyn.strided_slice', [x, np.array([0, 1], i64), np.array([2, 3], i64), np.array([1, 1], i64)], x[:, 1:3])
v = rand(2, 1, 4)
y = x.copy()
y[:, 2:3] = v
case('strided_set', [x, v, np.array([0, 2, 0], i32), np.array([2, 3, 4], i32), np.array([1, 1, 1], i32)], y)
case('slice_like', [x, rand(1, 2, 4)], x[:1, :2], axes=None)
case('slice_like', [x, rand(1, 2, 4)], x[:, :2], axes=[1])
idx = np.array([[0, 2], [1, 9]], i64)
case('take', [x, idx], np.take(x, np.minimum(idx, 2), 1), axis=1)
case('take', [x, idx], np.take(x, idx % 3, 1), axis=1, mode='wrap')
case('take', [x, idx], np.take(x, idx))
fails('take', [x, np.array([3], i64)], 'index 3 is out of range for an axis of 3', axis=1, mode='fast')
bi = np.array([[0, 3], [1, 1]], i32)
case('take', [x, bi], np.stack([x[i][:, bi[i]] for i in range(2)]), axis=2, batch_dims=1)
gi = rng.randint(0, 3, (2, 2, 4)).astype(i64)
case('gather', [x, gi], np.take_along_axis(x, gi, 1), axis=1)
fails('gather', [x, gi + 3], 'out of range', axis=1)
nd = np.array([[0, 1, 1], [2, 0, 1]], i64)
case('gather_nd', [x, nd], x[nd[0], nd[1]])
nd1 = np.array([[2, 0]], i64)
case('gather_nd', [x, nd1], np.stack([x[0, 2], x[1, 0]]), batch_dims=1)
x3, su = rand(4, 3), rand(2, 3)
si = np.array([[0, 1, 3], [3, 1, 2]], i64)
for mode in ('update', 'add', 'mul', 'min', 'max'):
    y = x3.copy()
    for i, j in itertools.product(range(2), range(3)):
        r, u = si[i, j], su[i, j]
        y[r, j] = {'update': u, 'add': y[r, j] + u, 'mul': y[r, j] * u, 'min': min(y[r, j], u),
                   'max': max(y[r, j], u)}[mode]
    case('scatter_elements', [x3, si, su], y, axis=0, reduction=mode)
    y = x3.copy()
    for k, r in enumerate([1, 3]):
        u = su[k]
        y[r] = {'update': u, 'add': y[r] + u, 'mul': y[r] * u, 'min': np.minimum(y[r], u),
                'max': np.maximum(y[r], u)}[mode]
    case('scatter_nd', [x3, np.array([[1, 3]], i64), su], y, mode=mode)
fails('scatter_elements', [x3, si + 9, su], 'out of range')
ai = [np.array([[0], [1]], i64), np.array([2, 0], i64)]
case('adv_index', [Tuple([x] + ai)], x[ai[0], ai[1]])
case('tile', [x], np.tile(x, (2, 1, 2)), reps=[2, 1, 2])
case('tile', [x[0]], np.tile(x[0], (2, 1, 1)), reps=[2, 1, 1])
case('dyn.tile', [x[0], np.array([2, 1, 1], i64)], np.tile(x[0], (2, 1, 1)))
case('repeat', [x], np.repeat(x, 2, 1), repeats=2, axis=1)
case('repeat', [x], np.repeat(x, 3), repeats=3)
case('reverse', [x], x[:, ::-1], axis=1)
ln = np.array([2, 3], i64)
y = x.copy()
y[0, :2], y[1, :3] = x[0, :2][::-1], x[1, :3][::-1]
case('reverse_sequence', [x, ln], y)
pw = [[1, 0], [0, 2], [1, 1]]
case('nn.pad', [x, np.array(9, f32)], np.pad(x, pw, constant_values=9), pad_width=pw)
case('nn.pad', [x, np.array(0, f32)], np.pad(x, pw, 'edge'), pad_width=pw, pad_mode='edge')
case('nn.pad', [x, np.array(0, f32)], np.pad(x, pw, 'reflect'), pad_width=pw, pad_mode='reflect')
bytes4 = np.array([[1, 2], [250, 3]], u8)
case('nn.pad', [bytes4, np.array(128, i32)], np.pad(bytes4, 1, constant_values=128), pad_width=[[1, 1], [1, 1]])
fails('nn.pad', [bytes4, np.array(0, f32)], 'pad_value is uint8, got float32', pad_width=[[1, 1], [1, 1]])
fails('nn.pad', [x, np.array(0, f32)], 'is negative', pad_width=[[0, 0], [0, 0], [-1, 0]])
fails('nn.pad', [x, np.array(0, f32)], 'too few', pad_width=[[2, 0], [0, 0], [0, 0]], pad_mode='reflect')
case('dyn.nn.pad', [x, np.array(pw, i64), np.array(9, f32)], np.pad(x, pw, constant_values=9))
case('nn.mirror_pad', [x], np.pad(x, pw, 'symmetric'), pad_width=pw)
case('nn.mirror_pad', [x], np.pad(x, pw, 'reflect'), pad_width=pw, mode='REFLECT')
d = rand(2, 8, 2, 3)
dcr = d.reshape(2, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 4, 6)
crd = d.reshape(2, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 4, 6)
case('nn.depth_to_space', [d], dcr, block_size=2)
case('nn.depth_to_space', [d], crd, block_size=2, mode='CRD')
case('nn.space_to_depth', [dcr], d, block_size=2)
fails('nn.depth_to_space', [d], 'block_size is at least 1', block_size=0)
fails('nn.depth_to_space', [d], 'not a multiple of 9', block_size=3)
s = rand(1, 4, 4, 2)
sb = s.reshape(1, 2, 2, 2, 2, 2).transpose(2, 4, 0, 1, 3, 5).reshape(4, 2, 2, 2)
case('nn.space_to_batch_nd', [s], sb, block_shape=[2, 2], paddings=[[0, 0], [0, 0]])
case('nn.batch_to_space_nd', [sb], s, block_shape=[2, 2], crops=[[0, 0], [0, 0]])
l = rand(1, 5, 2, 2)
lb = np.zeros((1, 8, 2, 2), f32)
lb[:, :5] = l
lb = lb.reshape(1, 2, 4, 2, 2).transpose(0, 1, 3, 4, 2)
case('layout_transform', [l], lb, src_layout='NCHW', dst_layout='NCHW4c')
case('layout_transform', [l], l.transpose(0, 2, 3, 1), src_layout='NCHW', dst_layout='NHWC')
fails('layout_transform', [l], 'is not a layout', src_layout='NCHWx', dst_layout='NHWC')
ids = np.array([[1, 3], [0, -1]], i64)
oh = (ids[..., None] == np.arange(3)).astype(f32) * 4 + 1
case('one_hot', [ids, np.array(5, f32), np.array(1, f32)], oh, depth=3)
case('one_hot', [ids, np.array(5, f32), np.array(1, f32)], oh.transpose(2, 0, 1), depth=3, axis=0)
case('arange', [], np.arange(1, 8, 2).astype(i32), start=1, stop=8, step=2, dtype='int32')
case('arange', [np.array(5, i64), np.array(0, i64), np.array(-2, i64)], np.array([5, 3, 1], i64), dtype='int64')
case('arange', [], np.zeros(0, f32), start=1, stop=1, step=2, dtype='float32')
fails('arange', [], 'step is 0', start=1, stop=8, step=0, dtype='int32')
fails('arange', [], 'too many', status='LIMIT', start=0, stop=2**62, step=1, dtype='int64')
g = [rand(2), rand(3)]
case('meshgrid', [Tuple(g)], np.meshgrid(*g, indexing='ij'))
case('meshgrid', [Tuple(g)], np.meshgrid(*g, indexing='xy'), indexing='xy')
case('shape_of', [x], np.array([2, 3, 4], i32))
case('ndarray_size', [x], np.array(24, i64), dtype='int64')
y = x.copy()
y[0, 2:] = 7
case('sequence_mask', [x, np.array([2, 3], i32)], y, axis=1, mask_value=7)
y = rand(2, 3, 3)
z = y.copy()
dg = rand(2, 3)
z[:, range(3), range(3)] = dg
case('matrix_set_diag', [y, dg], z)
case('unravel_index', [np.array([5, 23], i64), np.array([2, 3, 4], i64)],
     np.array(np.unravel_index([5, 23], (2, 3, 4)), i64))
w = rand(3, 5)
case('sliding_window', [w], np.lib.stride_tricks.sliding_window_view(w, (2, 3))[:, ::2],
     axis=0, window_shape=[2, 3], strides=[1, 2])
case('sparse_to_dense', [np.array([[0, 1], [2, 0]], i32), np.array([5, 6], f32), np.array(-1, f32)],
     np.array([[-1, 5], [-1, -1], [6, -1]], f32), output_shape=[3, 2])
case('invert_permutation', [np.array([2, 0, 1], i32)], np.array([1, 2, 0], i32))
fails('invert_permutation', [np.array([2, 2, 1], i32)], 'not a permutation')
e1, e2 = rand(2, 3), rand(3, 4)
case('einsum', [Tuple([e1, e2])], e1 @ e2, equation='ij,jk->ik')
case('einsum', [Tuple([e1, e2])], (e1 @ e2).T, equation='ij, jk -> ki')
case('einsum', [Tuple([rand(3, 3) * 0 + 2])], np.array(6, f32), equation='ii->')
fails('einsum', [Tuple([e1, e2])], 'extent of j', equation='ij,kj->ik')

# --- sorting
x = np.array([[3, 1, nan, 2], [0, 9, 9, -1]], f32)
case('sort', [x], np.sort(x, 1))
case('argsort', [x], np.argsort(x, 1, kind='stable').astype(i32))
y = rand(3, 4)
case('sort', [y], -np.sort(-y, 0), axis=0, is_ascend=False)
o = np.argsort(-y, 1, kind='stable')[:, :2]
case('topk', [y], [np.take_along_axis(y, o, 1), o.astype(i32)], k=2)
case('topk', [y], o.astype(i64), k=2, ret_type='indices', dtype='int64')
case('dyn.topk', [y, np.array(2, i64)], [np.take_along_axis(y, o, 1), o.astype(i32)])
fails('topk', [y], 'k is 5, axis 1 has 4', k=5)
sd, vs = np.array([1, 2, 2, 5], f32), np.array([0, 2, 9], f32)
case('searchsorted', [sd, vs], np.searchsorted(sd, vs).astype(i32))
case('searchsorted', [sd, vs], np.searchsorted(sd, vs, 'right').astype(i32), right=True)
t = np.array([[0, 2], [3, 0]], f32)
case('argwhere', [t], np.argwhere(t).astype(i32))
case('argwhere', [np.zeros((2, 3), bool)], np.zeros((0, 2), i32))
uv = np.array([3, 1, 3, 2, 1], i32)
vals, first, inverse, counts = np.unique(uv, return_index=True, return_inverse=True, return_counts=True)
case('unique', [uv], [vals, first.astype(i32), inverse.astype(i32), np.array([3], i32), counts.astype(i32)],
     return_counts=True)
case('unique', [uv], [np.array([3, 1, 2], i32), np.array([0, 1, 3], i32), np.array([0, 1, 0, 2, 1], i32),
                      np.array([3], i32)], sorted=False)

# --- products
x, w = rand(2, 3, 4), rand(5, 4)
case('nn.dense', [x, w], x @ w.T, units=None)
case('nn.dense', [x[0, 0], w], x[0, 0] @ w.T, units=5)
case('nn.dense', [rand(2, 0), rand(3, 0)], np.zeros((2, 3), f32), units=3)
q, r = rand(2, 4, dtype=i8, low=-128, high=127), rand(3, 4, dtype=i8, low=-128, high=127)
case('nn.dense', [q, r], q.astype(i32) @ r.astype(i32).T, units=None, out_dtype='int32')
fails('nn.dense', [q, r], 'out_dtype must be given', units=None)
fails('nn.dense', [x, rand(5, 3)], 'weight has 3 input features, data has 4', units=None)
fails('nn.dense', [x, w], 'units is 6, weight has 5', units=6)
fails('nn.dense', [x, w], 'attribute units must be given')
a, b = rand(3, 4), rand(4, 5)
case('nn.matmul', [a, b], a @ b, units=None)
case('nn.matmul', [a.T, b.T], a @ b, units=None, transpose_a=True, transpose_b=True)
many = np.stack([a, -a])
case('nn.matmul', [many, b.T], many @ b, units=5, transpose_b=True)
case('nn.matmul', [many.transpose(0, 2, 1), b], many @ b, units=5, transpose_a=True)
case('nn.matmul', [a[0], b], a[0] @ b, units=5)
case('nn.contrib_dense_pack', [a, b.T.reshape(1, 5, 4).transpose(0, 2, 1)], a @ b, units=None, weight_layout='NC5n')
a, b = rand(2, 3, 4), rand(2, 5, 4)
case('nn.batch_matmul', [a, b], a @ b.transpose(0, 2, 1), transpose_b=True)
case('nn.batch_matmul', [a.transpose(0, 2, 1), b.transpose(0, 2, 1)], a @ b.transpose(0, 2, 1), transpose_a=True)
case('nn.batch_matmul', [a, b[:1]], a @ b[:1].transpose(0, 2, 1), transpose_b=True)
x = np.array([[[0.25], [-1.5], [2]], [[1], [0.5], [-3]]], f32)
y = np.array([[[1, 2, -1, 0.5]], [[4, -2, 0, 1]]], f32)
case('nn.batch_matmul', [x, y], x @ y)  # outer products
fails('nn.batch_matmul', [a, b], 'inner extents are 4 and 5')
fails('nn.batch_matmul', [a, rand(3, 5, 4)], 'batches are 2 and 3', transpose_b=True)


# --- convolutions
def conv(x, w, strides, pads, dil, groups):
    """x: N, C, spatial; w: O, I, spatial."""
    n = x.ndim - 2
    begins, ends = pads[:n], pads[n:]
    xp = np.pad(x.astype(f64), [(0, 0), (0, 0)] + list(zip(begins, ends)))
    out = [(xp.shape[2 + i] - (w.shape[2 + i] - 1) * dil[i] - 1) // strides[i] + 1 for i in range(n)]
    y = np.zeros([x.shape[0], w.shape[0]] + out)
    per, opg = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        g = o // opg
        for at in itertools.product(*map(range, out)):
            window = tuple(slice(at[i] * strides[i], at[i] * strides[i] + (w.shape[2 + i] - 1) * dil[i] + 1, dil[i])
                           for i in range(n))
            part = xp[(slice(None), slice(g * per, (g + 1) * per)) + window]
            y[(slice(None), o) + at] = (part * w[o].astype(f64)).reshape(x.shape[0], -1).sum(1)
    return y


for n, op in ((1, 'nn.conv1d'), (2, 'nn.conv2d'), (3, 'nn.conv3d')):
    size = (5, 4, 4)[:n]
    x, w = rand(2, 4, *size), rand(6, 2, *[3, 2, 2][:n])
    case(op, [x, w], conv(x, w, [2] * n, [1] * 2 * n, [1] * n, 2).astype(f32), strides=[2] * n, padding=[1] * n, groups=2)
    w = rand(3, 4, *[1] * n)
    case(op, [x, w], conv(x, w, [1] * n, [0] * 2 * n, [1] * n, 1).astype(f32))
x, w = rand(1, 4, 6, 5), rand(4, 1, 3, 3)
y = conv(x, w, [1, 1], [1, 2, 0, 1], [2, 1], 4).astype(f32)
attrs = dict(padding=[1, 2, 0, 1], dilation=[2, 1], groups=4, channels=4, kernel_size=[3, 3])
case('nn.conv2d', [x, w], y, **attrs)
case('nn.conv2d', [x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)], y.transpose(0, 2, 3, 1),
     data_layout='NHWC', kernel_layout='HWIO', **attrs)
case('nn.conv2d', [x, w], y.transpose(0, 2, 3, 1), out_layout='NHWC', **attrs)
xi, wi = rand(1, 3, 4, 4, dtype=u8, low=0, high=255), rand(2, 3, 2, 2, dtype=i8, low=-128, high=127)
case('nn.conv2d', [xi, wi], conv(xi, wi, [1, 1], [0] * 4, [1, 1], 1).astype(i32), out_dtype='int32')
x, w = rand(1, 8, 4, 4), rand(8, 8, 3, 3)
y = conv(x, w, [1, 1], [1] * 4, [1, 1], 1).astype(f32)
case('nn.contrib_conv2d_NCHWc', [x.reshape(1, 2, 4, 4, 4).transpose(0, 1, 3, 4, 2),
                                 w.reshape(2, 4, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1)],
     y.reshape(1, 2, 4, 4, 4).transpose(0, 1, 3, 4, 2), padding=[1], data_layout='NCHW4c', kernel_layout='OIHW4i4o')
x = rand(1, 4, 5, 5)
fails('nn.conv2d', [x, rand(2, 3, 3, 3)], 'weight has 3 input channels, data has 4')
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'weight has 4 input channels, data has 4 in 2 groups', groups=2)
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'strides is at least 1, got 0', strides=[0, 1])
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'dilation is at least 1, got 0', dilation=[0, 1])
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'groups is at least 1, got 0', groups=0)
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'groups 3 does not divide 4 channels', groups=3)
fails('nn.conv2d', [x, rand(2, 4, 7, 3)], 'covers 7 elements, the padded data has 5')
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'padding holds a negative value', padding=[-1, 0])
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'padding has 1, 2 or 4 values', padding=[1, 1, 1])
fails('nn.conv2d', [x, rand(2, 4, 3)], 'weight has rank 4')
fails('nn.conv2d', [x[0], rand(2, 4, 3, 3)], 'data has rank 4')
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'channels is 3, weight has 2 output channels', channels=3)
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'kernel_size is 5 along H, weight has 3', kernel_size=[5, 3])
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'unknown attribute stride, did you mean strides', stride=[1, 1])
fails('nn.conv2d', [x, rand(2, 4, 3, 3)], 'data_layout has the axes NCHW', data_layout='NCHX')
fails('nn.conv2d', [x, rand(2, 4, 3, 3).astype(f64)], 'data is float32, weight is float64')


def conv_transpose(x, w, strides, pads, dil, extra, groups):
    """w: I, O, spatial."""
    n = x.ndim - 2
    full = [(x.shape[2 + i] - 1) * strides[i] + (w.shape[2 + i] - 1) * dil[i] + 1 + extra[i] for i in range(n)]
    per, opg = x.shape[1] // groups, w.shape[1]
    y = np.zeros([x.shape[0], opg * groups] + full)
    for b, ch, o in itertools.product(range(x.shape[0]), range(x.shape[1]), range(opg)):
        for at in itertools.product(*map(range, x.shape[2:])):
            for k in itertools.product(*map(range, w.shape[2:])):
                where = tuple(at[i] * strides[i] + k[i] * dil[i] for i in range(n))
                y[(b, ch // per * opg + o) + where] += float(x[(b, ch) + at]) * float(w[(ch, o) + k])
    cut = tuple(slice(pads[i], full[i] - pads[n + i]) for i in range(n))
    return y[(slice(None), slice(None)) + cut]


for n, op in ((1, 'nn.conv1d_transpose'), (2, 'nn.conv2d_transpose'), (3, 'nn.conv3d_transpose')):
    x, w = rand(1, 4, *[3, 2, 2][:n]), rand(4, 2, *[3, 3, 2][:n])
    case(op, [x, w], conv_transpose(x, w, [2] * n, [1] * 2 * n, [1] * n, [1] * n, 2).astype(f32),
         strides=[2] * n, padding=[1] * n, output_padding=[1] * n, groups=2)
fails('nn.conv2d_transpose', [rand(1, 3, 2, 2), rand(4, 2, 3, 3)], 'weight has 4 input channels, data has 3')
fails('nn.conv2d_transpose', [rand(1, 4, 1, 1), rand(4, 2, 1, 1)], 'the result is empty', padding=[1, 1])
x, w = rand(1, 2, 4, 4), rand(3, 2, 3, 3)
zero = np.zeros((1, 18, 2, 2), f32)
case('nn.deformable_conv2d', [x, zero, w], conv(x, w, [1, 1], [0] * 4, [1, 1], 1).astype(f32))
one = zero.copy()
one[:, 1::2] = 1  # one column to the right
shifted = np.concatenate([x[:, :, :, 1:], np.zeros((1, 2, 4, 1), f32)], 3)
case('nn.deformable_conv2d', [x, one, w], conv(shifted, w, [1, 1], [0] * 4, [1, 1], 1).astype(f32))

# --- channels, norms
x, c = rand(2, 3, 4), rand(3)
case('nn.bias_add', [x, c], x + c[:, None])
case('nn.bias_add', [x, rand(4) * 0 + 1], x + 1, axis=-1)
fails('nn.bias_add', [x, rand(4)], 'bias has 4 elements, axis 1 of data has 3')
case('nn.prelu', [x, c], np.where(x < 0, x * c[:, None], x))
case('nn.leaky_relu', [np.array([nan, -4, 4], f32)], np.array([nan, -1, 4], f32))
e = np.exp(x - x.max(-1, keepdims=True))
case('nn.softmax', [x], e / e.sum(-1, keepdims=True))
case('nn.fast_softmax', [x], e / e.sum(-1, keepdims=True))
case('nn.log_softmax', [x], np.log(e / e.sum(-1, keepdims=True)))
e = np.exp(x)
case('nn.softmax', [x], e / e.sum(1, keepdims=True), axis=1)
case('nn.softmax', [np.array([1000, 1000], f32)], np.array([0.5, 0.5], f32))
fails('nn.softmax', [x], 'axis 3 is out of range for rank 3', axis=3)
g, b, m, v = rand(3), rand(3), rand(3), rand(3, low=0.5, high=2)
col = lambda t: t[:, None]
case('nn.batch_norm', [x, g, b, m, v], [(x - col(m)) / np.sqrt(col(v) + f32(1e-5)) * col(g) + col(b), m, v])
case('nn.batch_norm', [x, g, b, m, v], [(x - col(m)) / np.sqrt(col(v) + f32(0.1)), m, v],
     epsilon=0.1, center=False, scale=False)
g4, b4 = rand(4), rand(4)
ln = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
case('nn.layer_norm', [x, g4, b4], (ln * g4 + b4).astype(f32))
xi = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
case('nn.instance_norm', [x, g, b], (xi * col(g) + col(b)).astype(f32))
xg, gg, bg = rand(2, 4, 3), rand(4), rand(4)
t = xg.reshape(2, 2, 6)
t = ((t - t.mean(2, keepdims=True)) / np.sqrt(t.var(2, keepdims=True) + 1e-5)).reshape(2, 4, 3)
case('nn.group_norm', [xg, gg, bg], (t * col(gg) + col(bg)).astype(f32), num_groups=2)
fails('nn.group_norm', [xg, gg, bg], 'num_groups 3 does not divide 4', num_groups=3)
fails('nn.layer_norm', [x, g4, b4], 'epsilon is not negative', epsilon=-1.0)
case('nn.l2_normalize', [x], x / np.sqrt(np.maximum((x * x).sum(1, keepdims=True), 1e-3)), eps=1e-3, axis=[1])
x = rand(1, 5, 2)
pad = np.pad(x.astype(f64) ** 2, [(0, 0), (1, 1), (0, 0)])
case('nn.lrn', [x], (x / (2 + 0.3 / 3 * (pad[:, :-2] + pad[:, 1:-1] + pad[:, 2:])) ** 0.75).astype(f32), size=3, alpha=0.3)
fails('nn.lrn', [x], 'size is odd', size=4)
case('nn.dropout', [x], [x, np.ones_like(x)], rate=0.3)


# --- pooling
def pool(x, k, strides, pads, dil, ceil, kind, include=False):
    n = x.ndim - 2
    out = []
    for i in range(n):
        room = x.shape[2 + i] + pads[i] + pads[n + i] - (k[i] - 1) * dil[i] - 1
        out.append((room + (strides[i] - 1 if ceil else 0)) // strides[i] + 1)
    y = np.zeros(list(x.shape[:2]) + out)
    for at in itertools.product(*map(range, out)):
        found = []
        for tap in itertools.product(*map(range, k)):
            pos = tuple(at[i] * strides[i] - pads[i] + tap[i] * dil[i] for i in range(n))
            if all(0 <= pos[i] < x.shape[2 + i] for i in range(n)):
                found.append(x[(slice(None), slice(None)) + pos].astype(f64))
        where = (slice(None), slice(None)) + at
        if kind == 'max':
            y[where] = np.max(found, 0) if found else -inf
        else:
            y[where] = np.sum(found, 0) / (np.prod(k) if include else max(len(found), 1)) if found else 0
    return y.astype(x.dtype)


for n in (1, 2, 3):
    x = rand(1, 2, *[5, 6, 4][:n])
    for kind in ('max', 'avg'):
        op = 'nn.%s_pool%dd' % (kind, n)
        case(op, [x], pool(x, [2] * n, [2] * n, [0] * 2 * n, [1] * n, False, kind), pool_size=[2] * n, strides=[2] * n)
        case(op, [x], pool(x, [3] * n, [2] * n, [1] * 2 * n, [1] * n, True, kind), pool_size=[3] * n, strides=[2] * n,
             padding=[1] * n, ceil_mode=True)
        case(op, [x], pool(x, [2] * n, [1] * n, [0] * 2 * n, [2] * n, False, kind), pool_size=2, dilation=2)
    case('nn.avg_pool%dd' % n, [x], pool(x, [3] * n, [1] * n, [1] * 2 * n, [1] * n, False, 'avg', True),
         pool_size=[3] * n, padding=[1] * n, count_include_pad=True)
x = rand(1, 2, 4, 6)
nh = x.transpose(0, 2, 3, 1)
case('nn.max_pool2d', [nh], pool(x, [2, 2], [2, 2], [0] * 4, [1, 1], False, 'max').transpose(0, 2, 3, 1),
     pool_size=[2, 2], strides=[2, 2], layout='NHWC')
y = x.copy()
y[0, 0, 0, 0] = nan
case('nn.max_pool2d', [y], pool(y, [2, 2], [2, 2], [0] * 4, [1, 1], False, 'max'), pool_size=[2, 2], strides=[2, 2])
fails('nn.max_pool2d', [x], 'pool_size is at least 1', pool_size=[0, 2])
fails('nn.max_pool2d', [x], 'covers 7 elements', pool_size=[7, 2])
fails('nn.max_pool2d', [x], 'attribute pool_size is a list of integers', pool_size='2')
case('nn.global_avg_pool2d', [x], x.mean((2, 3), keepdims=True))
case('nn.global_max_pool2d', [x], x.max((2, 3), keepdims=True))
ad = np.stack([x[:, :, :, [0, 1]].mean(3), x[:, :, :, [1, 2]].mean(3), x[:, :, :, [3, 4]].mean(3),
               x[:, :, :, [4, 5]].mean(3)], 3)
case('nn.adaptive_avg_pool2d', [x], ad.reshape(1, 2, 2, 2, 4).mean(3).astype(f32), output_size=[2, 4])
case('nn.adaptive_max_pool2d', [x], x.max((2, 3), keepdims=True), output_size=[1, 1])
case('nn.adaptive_max_pool1d', [x[0]], x[0], output_size=[])
case('nn.adaptive_avg_pool3d', [x[None]], x[None].mean((2, 3, 4), keepdims=True), output_size=1)

# --- losses, images
p, t = rand(3, 4, low=0.1, high=1), rand(3, 4, low=0, high=1)
case('nn.cross_entropy', [p, t], np.array(-(np.log(p) * t).sum() / 3, f32))
case('nn.cross_entropy_with_logits', [p, t], np.array(-(p * t).sum() / 3, f32))
y, w = np.array([1, 3, 0], i32), rand(4, low=0.5, high=1)
lo = -w[y] * p[range(3), y]
case('nn.nll_loss', [p, y, w], np.array(lo.sum() / w[y].sum(), f32), ignore_index=-100)
case('nn.nll_loss', [p, y, w], lo, ignore_index=-100, reduction='none')
lo[1] = 0
case('nn.nll_loss', [p, y, w], np.array(lo.sum(), f32), ignore_index=3, reduction='sum')
x = rand(2, 3)
z = np.zeros((3, 3), f32)
z[::2] = x
case('nn.dilate', [x], z, strides=[2, 1])
x = rand(1, 1, 2, 3)
case('nn.upsampling', [x], x.repeat(2, 2).repeat(3, 3), scale_h=2, scale_w=3)
fails('nn.upsampling', [x], 'a scale is positive', scale_h=0, scale_w=3)


def linear(x, size, coordinate):
    def matrix(n, m):
        w = np.zeros((m, n))
        for o in range(m):
            at = coordinate(o, n, m)
            low = math.floor(at)
            for i, weight in ((low, 1 - (at - low)), (low + 1, at - low)):
                w[o, min(max(i, 0), n - 1)] += weight
        return w
    return np.einsum('ai,bj,ncij->ncab', matrix(x.shape[2], size[0]), matrix(x.shape[3], size[1]),
                     x.astype(f64)).astype(f32)


x = rand(1, 2, 3, 4)
case('image.resize2d', [x], linear(x, [5, 7], lambda o, n, m: (o + 0.5) * n / m - 0.5), size=[5, 7])
case('image.resize2d', [x], linear(x, [5, 7], lambda o, n, m: o * (n - 1) / (m - 1)), size=[5, 7],
     coordinate_transformation_mode='align_corners')
case('image.resize2d', [x], linear(x, [2, 2], lambda o, n, m: o * n / m), size=[2, 2],
     coordinate_transformation_mode='asymmetric')
near = x[:, :, [0, 0, 1, 1, 2, 2]][:, :, :, [0, 0, 1, 1, 2, 2, 3, 3]]
case('image.resize2d', [x], near, size=[6, 8], method='nearest_neighbor',
     coordinate_transformation_mode='asymmetric', rounding_method='floor')
case('image.resize1d', [x[0]], linear(x[0][:, :, None, :], [1, 8], lambda o, n, m: (o + 0.5) * n / m - 0.5)[:, :, 0],
     size=[8])
case('image.resize2d', [x], x, size=[3, 4], method='cubic')
case('image.resize2d', [x.transpose(0, 2, 3, 1)],
     linear(x, [5, 7], lambda o, n, m: (o + 0.5) * n / m - 0.5).transpose(0, 2, 3, 1), size=[5, 7], layout='NHWC')
case('dyn.image.resize2d', [x, np.array([6, 8], i64), np.zeros(0, f32)],
     linear(x, [6, 8], lambda o, n, m: (o + 0.5) * n / m - 0.5))
wide = rand(1, 20, 5, 6)  # more channels than lanes
last = wide.transpose(0, 2, 3, 1)
for size in [2, 9], [7, 3], [11, 19]:
    places = linear(wide, size, lambda o, n, m: (o + 0.5) * n / m - 0.5)
    operands = [np.array(size, i64), np.zeros(0, f32)]
    case('dyn.image.resize2d', [wide] + operands, places)
    case('dyn.image.resize2d', [last] + operands, places.transpose(0, 2, 3, 1), layout='NHWC')
    case('image.resize2d', [last], places.transpose(0, 2, 3, 1), size=size, layout='NHWC')
nearby = wide[:, :, [0, 2]][:, :, :, [0, 0, 1, 2, 2, 3, 4, 4, 5]]
case('dyn.image.resize2d', [wide, np.array([2, 9], i64), np.zeros(0, f32)], nearby, method='nearest_neighbor',
     coordinate_transformation_mode='asymmetric', rounding_method='floor')
case('dyn.image.resize2d', [last, np.array([2, 9], i64), np.zeros(0, f32)], nearby.transpose(0, 2, 3, 1), layout='NHWC',
     method='nearest_neighbor', coordinate_transformation_mode='asymmetric', rounding_method='floor')
fails('image.resize2d', [x], 'size must be given')
fails('image.resize2d', [x], 'method is one of', size=[5, 7], method='lanczos')
theta = np.array([[[1, 0, 0], [0, 1, 0]]], f32)
gx, gy = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 3))
grid = np.stack([gx, gy])[None].astype(f32)
case('image.affine_grid', [theta], grid, target_shape=[3, 4])
case('image.grid_sample', [x, grid], x)
case('image.grid_sample', [x, grid[:, :, ::-1, :]], x[:, :, ::-1])
case('image.grid_sample', [x, grid * 0 + 5], x * 0)
case('image.grid_sample', [x, grid * 0 + 5], np.broadcast_to(x[:, :, -1:, -1:], x.shape), padding_mode='border')
boxes = np.array([[0, 0, 1, 1]], f32)
case('image.crop_and_resize', [x, boxes, np.array([0], i32)],
     linear(x, [5, 7], lambda o, n, m: o * (n - 1) / (m - 1)), crop_size=[5, 7])
w = rand(2, 2, 2)
y = np.stack([[[max(x[0, c, i + a, j + b] + w[c, a, b] for a in (0, 1) for b in (0, 1)) for j in range(3)]
               for i in range(2)] for c in range(2)])[None]
case('image.dilation2d', [x, w], y.astype(f32))

# --- shapes, axes and bounds as operands
def ints(*values, dtype=i64):
    return np.array(values, dtype)


x = np.arange(24, dtype=f32).reshape(2, 3, 4)
none = np.zeros((0, 3), f32)
case('dyn.reshape', [x, ints(0, -1)], x.reshape(2, 12))
case('dyn.reshape', [x, ints(-1, 3, dtype=i32)], x.reshape(8, 3))
case('dyn.reshape', [x[:1, :1, :1], ints()[:0]], x[0, 0, 0])
case('dyn.reshape', [none, ints(3, 0)], none.reshape(3, 0), allowzero=1)
case('dyn.reshape', [none, ints(0, 3, 1)], none.reshape(0, 3, 1))
fails('dyn.reshape', [x, ints(5, 5)], 'has 24 elements, the new shape 25')
fails('dyn.reshape', [x, ints(5, -1)], 'not a multiple of 5')
fails('dyn.reshape', [x, ints(-1, -1)], '-1 twice')
fails('dyn.reshape', [x, ints(-9)], 'unknown code -9')
fails('dyn.reshape', [x, ints(4, 3, 2, 1, 0)], 'has no input axis left')
one = np.array([1], i64)
case('dyn.strided_slice', [x, ints(-1), ints(-100), ints(-2)], x[:, :, ::-2], axes=[2])
case('dyn.strided_slice', [x, ints(100), ints(-2), ints(-1)], x[:, :, :-2:-1], axes=[2])
case('dyn.strided_slice', [x, ints(-2), ints(2**62), one], x[:, -2:], axes=[1])
case('dyn.strided_slice', [x, ints(2), ints(1), one], x[:, 2:1], axes=[1])
case('dyn.strided_slice', [x, ints(1, 0), ints(1, -1), ints(1, 1)], x[1:2], slice_mode='size')
case('dyn.strided_slice', [none, ints(-1), ints(-5), ints(-1)], none, axes=[0])
fails('dyn.strided_slice', [x, ints(0), ints(1), ints(0)], 'strides hold a 0', axes=[0])
fails('dyn.strided_slice', [x, ints(0, 0, 0, 0), ints(1, 1, 1, 1), one], 'begin has 4 values, x has rank 3')
case('dyn.broadcast_to', [x[:, :1], ints(2, 3, 4)], np.broadcast_to(x[:, :1], (2, 3, 4)))
case('dyn.broadcast_to', [x, ints(2, 2, 3, 4)], np.broadcast_to(x, (2, 2, 3, 4)))
case('dyn.broadcast_to', [x[:, :1], ints(2, 0, 4)], x[:, :0])
fails('dyn.broadcast_to', [x, ints(2, 5, 4)], 'does not broadcast')
fails('dyn.broadcast_to', [x, ints(2, -1, 4)], 'negative size')
case('dyn.expand_dims', [x, np.array(1, i64)], x[:, None])
case('dyn.expand_dims', [x, np.array(-1, i64)], x[..., None])
case('dyn.expand_dims', [x, np.array(3, i32)], x[..., None, None], num_newaxis=2)
fails('dyn.expand_dims', [x, np.array(4, i64)], 'axis 4 is out of range')
case('dyn.squeeze', [x[:1, :, :1], ints(0, -1)], x[0, :, 0])
case('dyn.squeeze', [x, ints()[:0]], x)
fails('dyn.squeeze', [x, ints(0)], 'axis 0 has 2 elements, not 1')
fails('dyn.squeeze', [x, ints(3)], 'axis 3 is out of range')
case('dyn.tile', [x[0], ints(1, 0)], x[0][:, :0])
case('dyn.tile', [x[0], ints(2)], np.tile(x[0], 2))
fails('dyn.tile', [x[0], ints(1, -1)], 'negative count')
case('dyn.full', [np.array(3, f32), ints(2, 3)], np.full((2, 3), 3, f32))
case('dyn.full', [np.array(3, i32), ints()[:0]], np.array(3, f32), dtype='float32')
case('dyn.ones', [ints(3, 0)], np.ones((3, 0), f32))
case('dyn.ones', [ints(2, dtype=i32)], np.ones(2, bool), dtype='bool')
case('dyn.zeros', [ints(2, 2)], np.zeros((2, 2), i64), dtype='int64')
fails('dyn.full', [np.array(3, f32), ints(2, -3)], 'negative size')
fails('dyn.zeros', [ints(2**62, 4)], 'larger than 16 GiB', status='LIMIT')
case('dyn.nn.pad', [x[0], np.array([[1, 2], [0, 3]], i64), np.array(0, f32)],
     np.pad(x[0], [[1, 2], [0, 3]], mode='edge'), pad_mode='edge')
case('dyn.nn.pad', [x[0], np.array([[2, 1], [3, 0]], i32), np.array(0, f32)],
     np.pad(x[0], [[2, 1], [3, 0]], mode='reflect'), pad_mode='reflect')
case('dyn.nn.pad', [none, np.array([[1, 0], [0, 0]], i64), np.array(7, f32)], np.full((1, 3), 7, f32))
fails('dyn.nn.pad', [x[0], np.array([[0, 0], [-1, 0]], i64), np.array(0, f32)], 'negative')
fails('dyn.nn.pad', [x[0], np.array([[3, 0], [0, 0]], i64), np.array(0, f32)], 'too few elements', pad_mode='reflect')
fails('dyn.nn.pad', [none, np.array([[1, 0], [0, 0]], i64), np.array(0, f32)], 'too few elements', pad_mode='edge')
on, off = np.array(5, f32), np.array(-1, f32)
hot = np.full((2, 3), -1, f32)
hot[0, 2] = 5
case('dyn.one_hot', [ints(2, 7), on, off, np.array(3, i64)], hot, dtype='float32')
case('dyn.one_hot', [ints(2, 7), on, off, np.array(3, i64)], hot.T, dtype='float32', axis=0)
fails('dyn.one_hot', [ints(2), on, off, np.array(0, i64)], 'depth is one number, at least 1')
y = np.array([[3, 1, 2], [0, 5, 4]], f32)
case('dyn.topk', [y, np.array(0, i64)], y[:, :0], ret_type='values')
case('dyn.topk', [y, np.array(1, i64)], np.array([[1], [0]], i32), ret_type='indices', is_ascend=True)
fails('dyn.topk', [y, np.array(4, i64)], 'k is 4, axis 1 has 3 elements')
fails('dyn.topk', [y, np.array(-1, i64)], 'k is at least 0, got -1')
x = x[:, None]
case('dyn.nn.upsampling', [x, np.array(2, f32), np.array(3, f32)], x.repeat(2, 2).repeat(3, 3))
case('dyn.nn.upsampling', [x, np.array(2, f32), np.array(1.5, f32)],
     x.repeat(2, 2)[:, :, :, [0, 0, 1, 2, 2, 3]])
fails('dyn.nn.upsampling', [x, np.array(0, f32), np.array(1, f32)], 'is resized to 0', status='ARG')

# --- where approximations lose digits: near zeros of the function, and far out
tiny = np.array([0.1, 1e-2, 1e-3, 1e-4, 3e-5, 1e-6, 1e-20], f32)
tiny = np.concatenate([tiny, -tiny])
for name in ('abs', 'negative', 'exp', 'sigmoid', 'tanh', 'erf', 'sinh', 'asinh', 'sin', 'atan'):
    case(name, [tiny], unary[name](tiny.astype(f64)).astype(f32))
far = np.array([-0.5, -5, -12, -14.5, -20, -40, -80, -86], f32)
case('exp', [far], np.exp(far.astype(f64)).astype(f32))
case('sigmoid', [far], (1 / (1 + np.exp(-far.astype(f64)))).astype(f32))
near_one = (1 + np.array([0.5, 0.25, 0.1, 0.039, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 0, -1e-6, -1e-4, -0.01, -0.04, -0.2])).astype(f32)
case('log', [near_one], np.log(near_one.astype(f64)).astype(f32))
for name, power in (('sqrt', 0.5), ('rsqrt', -0.5)):
    case(name, [tiny[:6]], (tiny[:6].astype(f64) ** power).astype(f32))

# --- where the plain formula loses all digits, and far out
with np.errstate(all='ignore'):
    for name, fn, least in (('expm1', np.expm1, -90), ('log1p', np.log1p, -0.9)):
        edges = np.array([nan, inf, -inf, 0.0, -0.0, 1, -1, 0.999, 1.001, 20, 80, 3e5, 2e6, 1e30] if name == 'log1p'
                         else [nan, inf, -inf, 0.0, -0.0, 1, -1, 0.999, 1.001, -0.999, 20, 80, -20, -90], f32)
        for x in (tiny, edges, np.linspace(least, 5, 37).astype(f32), np.zeros((0, 3), f32)):
            case(name, [x], fn(x.astype(f64)).astype(f32))
        case(name, [np.array([0.5, 1e-3, -1e-3, 2], np.float16)], fn(np.array([0.5, 1e-3, -1e-3, 2], np.float16).astype(f64)).astype(np.float16))
        case(name, [np.array([0.5, 1e-9, -1e-9, 2], f64)], fn(np.array([0.5, 1e-9, -1e-9, 2], f64)))
        fails(name, [np.array([1], i32)], 'takes floats')
    x = np.array([[[0.5, -1, 2], [1, 1, -3]], [[1000, 999, 0], [-1000, -1001, 0]]], f32)
    for axis, attrs in ((None, {}), (1, {'axis': [1]}), (-1, {'axis': [-1], 'keepdims': True}), ((0, 2), {'axis': [1], 'exclude': True})):
        case('logsumexp', [x], np.logaddexp.reduce(x.astype(f64), axis=axis, keepdims=attrs.get('keepdims', False)).astype(f32)
             if not isinstance(axis, tuple) else
             np.logaddexp.reduce(x.astype(f64).transpose(1, 0, 2).reshape(2, -1), axis=1).astype(f32), **attrs)
    x = np.array([[-inf, -inf], [inf, 1], [inf, -inf], [nan, 1], [nan, inf], [-inf, 3]], f32)
    case('logsumexp', [x], np.array([-inf, inf, inf, nan, nan, 3], f32), axis=[1])
    case('logsumexp', [np.zeros((2, 0), f32)], np.array([-inf, -inf], f32), axis=[1])
    case('logsumexp', [np.float16([[1, 2, 3]])], np.array([3.4076], np.float16), axis=[1])
fails('logsumexp', [np.array([1], i32)], 'takes floats')
fails('logsumexp', [x], 'axis 2 is out of range for rank 2', axis=[2])

# --- infinities, as masks have them
masked = np.array([[-inf, -inf, -inf], [1, -inf, 2], [-inf, 0.5, -inf]], f32)
case('max', [masked], masked.max(1), axis=1)
case('max', [masked], masked.max(0), axis=0)
case('min', [-masked], -masked.max(1), axis=1)
case('sum', [masked], masked.sum(1), axis=1)
with np.errstate(all='ignore'):
    e = np.exp(masked.astype(f64) - masked.max(1, keepdims=True))
    case('nn.softmax', [masked], (e / e.sum(1, keepdims=True)).astype(f32))
    case('nn.log_softmax', [masked[1:]], np.log(e / e.sum(1, keepdims=True)).astype(f32)[1:])
case('nn.max_pool2d', [np.full((1, 1, 2, 2), -inf, f32)], np.full((1, 1, 1, 1), -inf, f32), pool_size=[2, 2])

# More channels than lanes, and two results of each.
for multiplier in (1, 2):
    x = (np.arange(1 * 19 * 4 * 3) % 23 - 11).reshape(1, 19, 4, 3).astype(f32) / 8
    w = (np.arange(19 * multiplier * 9) % 13 - 6).reshape(19 * multiplier, 1, 3, 3).astype(f32) / 4
    y = conv(x, w, [1, 1], [1] * 4, [1, 1], 19).astype(f32)
    for kernel, order in (('OHWI', (0, 2, 3, 1)), ('HWIO', (2, 3, 1, 0))):
        case('nn.conv2d', [x.transpose(0, 2, 3, 1), w.transpose(order)], y.transpose(0, 2, 3, 1),
             data_layout='NHWC', kernel_layout=kernel, groups=19, padding=[1, 1])

# Groups of few channels with channels last: items of several places with padding in front, between and
# behind, strides, taps apart, a last vector that is not full.
for channels, out, groups, extents, taps, strides, pad, apart in (
        (16, 16, 16, (5, 11), 3, [1, 1], 1, [1, 1]), (17, 17, 17, (3, 20), 5, [1, 1], 2, [1, 1]),
        (12, 24, 12, (7, 9), 5, [2, 2], 2, [1, 1]), (16, 16, 4, (4, 18), 3, [1, 1], 1, [1, 1]),
        (20, 20, 5, (3, 8), 3, [2, 1], 1, [1, 2]), (16, 16, 2, (2, 17), 3, [1, 2], 1, [1, 1]),
        (18, 36, 18, (6, 16), 3, [1, 1], 3, [2, 3])):
    x = (np.arange(2 * channels * extents[0] * extents[1]) % 23 - 11).reshape(2, channels, *extents).astype(f32) / 8
    w = (np.arange(out * channels // groups * taps * taps) % 13 - 6).reshape(out, channels // groups, taps, taps).astype(f32) / 4
    y = conv(x, w, strides, [pad] * 4, apart, groups).astype(f32)
    case('nn.conv2d', [x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)], y.transpose(0, 2, 3, 1), data_layout='NHWC',
         kernel_layout='HWIO', groups=groups, strides=strides, padding=[pad], dilation=apart)

qnn_cases.add_cases(case, fails, Tuple)
library_cases.add_cases(case, fails, Tuple, Typed)

for old in os.listdir(HERE):
    if old.endswith('.json'):
        os.remove(os.path.join(HERE, old))
# One value for all axes says the same as one for each.
for op in CASES:
    if 'conv' in op or 'pool' in op:
        for known in [c for c in CASES[op] if 'outputs' in c]:
            single = {k: v[:1] if k in ('strides', 'dilation', 'pool_size') and isinstance(v, list) and len(set(v)) == 1 else v
                      for k, v in known['attrs'].items()}
            if single != known['attrs']:
                CASES[op].append({**known, 'attrs': single})

# Few channels in a group, more than a vector of places.
few, weights = steps(1, 6, 3, 21), steps(9, 2, 3, 3)
case('nn.conv2d', [few, weights], conv(few, weights, [1, 1], [1] * 4, [1, 1], 3).astype(f32), padding=[1], groups=3)

def weight_only(x, q, scale, zero, bits):
    """q: the weights as integers (N, K), K a multiple of the blocks of scale."""
    block = q.shape[1] // scale.shape[1]
    zero = np.broadcast_to(zero, scale.shape)
    real = (q.astype(f64) - np.repeat(zero.astype(f64), block, 1)) * np.repeat(scale.astype(f64), block, 1)
    stored = q if bits == 8 else (q[:, 0::2] | q[:, 1::2] << 4).astype(np.uint8)
    attrs = {} if bits == 8 else {'bits': bits}
    case('nn.dense_weight_only', [x, stored, scale, zero], (x.astype(f64) @ real.T).astype(f32), **attrs)

rng_blocks = np.random.default_rng(9)


def real_numbers(*shape):
    return np.round(rng_blocks.uniform(0.1, 2, shape) * rng_blocks.choice([-1, 1], shape), 2).astype(f32)


q8, q4 = rng_blocks.integers(-128, 128, (5, 12)).astype(np.int8), rng_blocks.integers(0, 16, (19, 12)).astype(np.uint8)
weight_only(real_numbers(3, 12), q8, np.abs(real_numbers(5, 3)), np.array(0, f32), 8)
weight_only(real_numbers(12), q8, np.abs(real_numbers(5, 1)), rng_blocks.integers(-9, 9, (5, 1)).astype(np.int8), 8)
weight_only(real_numbers(2, 3, 12), q8.view(np.uint8), np.abs(real_numbers(5, 12)), real_numbers(5, 12), 8)
weight_only(real_numbers(2, 12), q4, np.abs(real_numbers(19, 3)), np.array(8, np.uint8), 4)
weight_only(real_numbers(7, 12), q4, np.abs(real_numbers(19, 2)), rng_blocks.integers(0, 16, (19, 2)).astype(np.uint8), 4)
weight_only(real_numbers(1, 12), q4, np.abs(real_numbers(19, 1)), real_numbers(19, 1), 4)
weight_only(real_numbers(2, 12), q4, np.abs(real_numbers(19, 2)), np.array(7, np.int32), 4)
weight_only(real_numbers(9, 12), q8, np.abs(real_numbers(5, 2)), rng_blocks.integers(-300, 300, (5, 2)).astype(np.int32), 8)
x, packed, scale, zero = real_numbers(2, 12), q4[:, :6], real_numbers(19, 3), np.array(8, np.uint8)
fails('nn.dense_weight_only', [x, packed, scale, zero], 'bits is 8 or 4, got 3', bits=3)
fails('nn.dense_weight_only', [x, packed, scale, zero], 'weight has 6 input features, x has 12')
fails('nn.dense_weight_only', [x, packed.view(np.int8), scale, zero], 'weight is one of uint8, got int8', bits=4)
fails('nn.dense_weight_only', [x, packed, real_numbers(19, 4), zero], 'blocks that are equal', bits=4)
fails('nn.dense_weight_only', [x, packed, scale, np.zeros(3, np.uint8)], 'zero_point is one value or as many as scale', bits=4)

for op, cases in sorted(CASES.items()):
    with open(os.path.join(HERE, op + '.json'), 'w') as file:
        lines = ',\n'.join('  ' + json.dumps(c) for c in cases)
        file.write('{"op": "%s", "cases": [\n%s\n]}\n' % (op, lines))
