#!/usr/bin/env python3
"""Writes acl_*: what the description of Arm Compute Library takes, with
results from NumPy and Python integers (../../numeric/qnn_cases.py). Needed only to
add cases:

    python3 make_acl_cases.py
"""
import json
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'numeric'))
import qnn_cases as q  # noqa: E402

f32, i8, u8, i32, i64 = np.float32, np.int8, np.uint8, np.int32, np.int64
rng = np.random.RandomState(5)
V = 'arm_compute_lib'
PROPERTIES = ['well_typed', 'no_annotations', 'acyclic', 'unique_symbols', 'valid_symbols',
              'no_unused_external', 'no_duplicate_params', 'flat_results', 'no_recompute']


def tensor(x):
    x = np.asarray(x)
    return {'dtype': str(x.dtype), 'shape': list(x.shape),
            'data': [v.item() for v in x.ravel()]}


def text(x):
    return 'Tensor[(%s), %s]' % (', '.join(map(str, x.shape)), x.dtype) if x.shape else str(x.dtype)


def case(name, title, inputs, params, body, result, functions, host=(), composites=None):
    """functions: [ops, composites] of each external function."""
    signature = ', '.join('%%%s: %s' % (k, text(v)) for k, v in {**inputs, **params}.items())
    lines = body.strip().splitlines()
    program = '#[version = "0.0.5"]\ndef @main(%s) -> %s {\n%s\n}\n' % (
        signature, text(result), '\n'.join('  ' + line.strip() for line in lines))
    with open(os.path.join(HERE, name + '.relay'), 'w') as file:
        file.write(program)
    counts = {}
    for _, names in functions:
        for each in names:
            counts[V + '.' + each] = counts.get(V + '.' + each, 0) + 1
    number = {'min': len(functions), 'max': len(functions)}
    expect = {
        'external': {V: number}, 'total_external': number,
        'host_ops': sorted(host), 'composites': counts,
        'main': {'params': [[k, text(v)] for k, v in inputs.items()], 'result': text(result)},
        'properties': PROPERTIES + ['same_results'],
        'runs': [{'inputs': {k: tensor(v) for k, v in inputs.items()}, 'outputs': [tensor(result)]}],
        'rtol': 1e-4, 'atol': 1e-5 if result.dtype == f32 else 0}
    data = {'schema': 1, 'name': name, 'title': title,
            'pipeline': {'vendors': [{'name': V, 'builtin': True}], 'merge_regions': True,
                         'bind_constants': True, 'mod_name': 'default'},
            'params': {k: tensor(v) for k, v in params.items()}, 'expect': expect}
    with open(os.path.join(HERE, name + '.expect.json'), 'w') as file:
        json.dump(data, file, separators=(',', ':'))
        file.write('\n')


def real(*shape):
    return (rng.randint(-32, 33, shape) / 16).astype(f32)


def nhwc(x, w_ohwi, **attrs):
    """A convolution of NHWC data by OHWI weights in exact integers or float64."""
    wide = np.float64 if x.dtype == f32 else i64
    out = conv_any(x.astype(wide).transpose(0, 3, 1, 2), w_ohwi.astype(wide).transpose(0, 3, 1, 2), **attrs)
    return out.transpose(0, 2, 3, 1)


def conv_any(x, w, pad=0, stride=1, groups=1):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, c, h, width = x.shape
    o, per, kh, kw = w.shape
    oh, ow = (h - kh) // stride + 1, (width - kw) // stride + 1
    out = np.zeros((n, o, oh, ow), x.dtype)
    for k in range(o):
        first = k // (o // groups) * per
        for i in range(oh):
            for j in range(ow):
                window = x[:, first:first + per, i * stride:i * stride + kh, j * stride:j * stride + kw]
                out[:, k, i, j] = (window * w[k]).sum(axis=(1, 2, 3))
    return out


PAD = 'pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]]'
NHWC = 'data_layout="NHWC", kernel_layout="%s"'

# --- float convolutions
x, w, b = real(1, 6, 5, 3), real(4, 3, 3, 3), real(4)
out = np.maximum(nhwc(x, w, pad=1) + b, 0).astype(f32)
case('acl_conv2d', 'pad, convolution, bias and ReLU are one composite', {'x': x}, {'w': w, 'b': b}, '''
%%0 = nn.pad(%%x, 0f, %s);
%%1 = nn.conv2d(%%0, %%w, channels=4, kernel_size=[3, 3], padding=[0, 0, 0, 0], %s);
%%2 = nn.bias_add(%%1, %%b, axis=3);
nn.relu(%%2)''' % (PAD, NHWC % 'OHWI'), out,
     [[['nn.pad', 'nn.conv2d', 'nn.bias_add', 'nn.relu'], ['conv2d']]])
case('acl_conv2d_alone', 'Every part but the convolution is optional', {'x': x}, {'w': w}, '''
nn.conv2d(%%x, %%w, channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1], %s)''' % (NHWC % 'OHWI'),
     nhwc(x, w, pad=1).astype(f32), [[['nn.conv2d'], ['conv2d']]])
two = np.concatenate([x, -x])
case('acl_batch_of_two', 'A batch of two stays on the host', {'x': two}, {'w': w}, '''
nn.conv2d(%%x, %%w, channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1], %s)''' % (NHWC % 'OHWI'),
     nhwc(two, w, pad=1).astype(f32), [], ['nn.conv2d'])
nchw = x.transpose(0, 3, 1, 2)
case('acl_nchw', 'A convolution of NCHW data stays on the host', {'x': nchw}, {'w': w.transpose(0, 3, 1, 2)}, '''
nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1])''',
     conv_any(nchw.astype(np.float64), w.transpose(0, 3, 1, 2).astype(np.float64), pad=1).astype(f32),
     [], ['nn.conv2d'])
case('acl_weight_not_constant', 'A weight that is no constant stays on the host', {'x': x, 'w': w}, {}, '''
nn.conv2d(%%x, %%w, channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1], %s)''' % (NHWC % 'OHWI'),
     nhwc(x, w, pad=1).astype(f32), [], ['nn.conv2d'])

# --- depthwise
x4, w4, w7 = real(1, 6, 5, 4), real(4, 3, 3, 1), real(4, 2, 2, 1)
case('acl_depthwise', 'A depthwise convolution of 3 by 3 is taken', {'x': x4}, {'w': w4.transpose(1, 2, 0, 3)}, '''
%%0 = nn.conv2d(%%x, %%w, groups=4, channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1], %s);
nn.relu(%%0)''' % (NHWC % 'HWOI'), np.maximum(nhwc(x4, w4, pad=1, groups=4), 0).astype(f32),
     [[['nn.conv2d', 'nn.relu'], ['conv2d']]])
case('acl_depthwise_kernel', 'A depthwise convolution of 2 by 2 is not', {'x': x4}, {'w': w7.transpose(1, 2, 0, 3)}, '''
nn.conv2d(%%x, %%w, groups=4, channels=4, kernel_size=[2, 2], padding=[0, 0, 0, 0], %s)''' % (NHWC % 'HWOI'),
     nhwc(x4, w7, groups=4).astype(f32), [], ['nn.conv2d'])
case('acl_depthwise_strides', 'Nor are other strides', {'x': x4}, {'w': w4.transpose(1, 2, 0, 3)}, '''
nn.conv2d(%%x, %%w, groups=4, strides=[3, 3], channels=4, kernel_size=[3, 3], padding=[0, 0, 0, 0], %s)''' % (NHWC % 'HWOI'),
     nhwc(x4, w4, stride=3, groups=4).astype(f32), [], ['nn.conv2d'])
wg = real(4, 3, 3, 2)
case('acl_groups', 'Groups that are not depthwise stay on the host', {'x': x4}, {'w': wg}, '''
nn.conv2d(%%x, %%w, groups=2, channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1], %s)''' % (NHWC % 'OHWI'),
     nhwc(x4, wg, pad=1, groups=2).astype(f32), [], ['nn.conv2d'])

# --- quantised convolution
xq = rng.randint(0, 256, (1, 6, 5, 3)).astype(u8)
wq, bq = rng.randint(-128, 128, (3, 3, 3, 4)).astype(i8), rng.randint(-2000, 2000, 4).astype(i32)
zx, sx, sw, so, zo = 131, 0.023, 0.011, 0.09, 118


def qconv(weights, bias, s_in, relu=False):
    """HWIO weights, int32 sums, requantized to uint8."""
    sums = nhwc(np.pad(xq, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=zx).astype(i64) - zx,
                weights.transpose(3, 0, 1, 2).astype(i64)) + bias
    sums = np.maximum(sums, 0) if relu else sums
    return q.requantize(sums, s_in, 0, f32(so), zo, u8)


QCONV = '''%%0 = nn.pad(%%x, %d, %s);
%%1 = qnn.conv2d(%%0, %%w, %d, 0, %gf, %s, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3], %s, out_dtype="int32");
%%2 = nn.bias_add(%%1, %%b, axis=3);
''' % (zx, PAD, zx, sx, 'SCALE', NHWC % 'HWIO')
scale_in = f32(sx) * f32(sw)
literal = '%.9gf' % scale_in
names = ['nn.pad', 'qnn.conv2d', 'nn.bias_add', 'qnn.requantize']
case('acl_qnn_conv2d', 'pad, qnn.conv2d, bias_add and requantize are one composite', {'x': xq}, {'w': wq, 'b': bq},
     QCONV.replace('SCALE', '%gf' % sw) + 'qnn.requantize(%%2, %s, 0, %gf, %d, axis=3, out_dtype="uint8")' % (literal, so, zo),
     qconv(wq, bq, scale_in), [[names, ['qnn_conv2d']]])
case('acl_qnn_conv2d_relu', 'A ReLU before requantize belongs to it', {'x': xq}, {'w': wq, 'b': bq},
     QCONV.replace('SCALE', '%gf' % sw) + '%%3 = nn.relu(%%2);\nqnn.requantize(%%3, %s, 0, %gf, %d, axis=3, out_dtype="uint8")' % (literal, so, zo),
     qconv(wq, bq, scale_in, relu=True), [[names + ['nn.relu'], ['qnn_conv2d']]])
scales = q.scale(0.011, 0.02, 0.005, 0.017)
case('acl_qnn_per_channel', 'Scales per channel stay on the host', {'x': xq}, {'w': wq, 'b': bq, 'sw': scales, 'si': f32(sx) * scales},
     QCONV.replace('SCALE', '%sw') + 'qnn.requantize(%%2, %%si, 0, %gf, %d, axis=3, out_dtype="uint8")' % (so, zo),
     q.requantize(nhwc(np.pad(xq, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=zx).astype(i64) - zx,
                       wq.transpose(3, 0, 1, 2).astype(i64)) + bq, f32(sx) * scales, 0, f32(so), zo, u8, axis=3),
     [], names)

# --- dense
xd, wd, bd = real(2, 6), real(3, 6), real(3)
case('acl_dense', 'dense with a bias is one composite', {'x': xd}, {'w': wd, 'b': bd}, '''
%0 = nn.dense(%x, %w, units=3);
nn.bias_add(%0, %b, axis=-1)''', (xd.astype(np.float64) @ wd.T + bd).astype(f32), [[['nn.dense', 'nn.bias_add'], ['dense']]])
xe, we, be = rng.randint(0, 256, (2, 6)).astype(u8), rng.randint(-128, 128, (3, 6)).astype(i8), rng.randint(-99, 99, 3).astype(i32)
sums = (xe.astype(i64) - 9) @ we.astype(i64).T + be
case('acl_qnn_dense', 'qnn.dense, bias and requantize are one composite', {'x': xe}, {'w': we, 'b': be}, '''
%%0 = qnn.dense(%%x, %%w, 9, 0, 0.05f, 0.02f, units=3, out_dtype="int32");
%%1 = nn.bias_add(%%0, %%b, axis=1);
qnn.requantize(%%1, %.9gf, 0, 0.25f, 100, out_dtype="uint8")''' % (f32(0.05) * f32(0.02)),
     q.requantize(sums, f32(0.05) * f32(0.02), 0, f32(0.25), 100, u8), [[['qnn.dense', 'nn.bias_add', 'qnn.requantize'], ['qnn_dense']]])

# --- pools
xp = real(1, 4, 6, 2)
blocks = xp.astype(np.float64).reshape(1, 2, 2, 3, 2, 2)
POOL = 'pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], layout="NHWC"'
case('acl_pools', 'Pools are regions of their own', {'x': xp}, {}, '''
%%0 = nn.max_pool2d(%%x, %s);
%%1 = nn.avg_pool2d(%%0, pool_size=[2, 1], strides=[1, 1], padding=[0, 0, 0, 0], layout="NHWC");
nn.global_max_pool2d(%%1, layout="NHWC")''' % POOL,
     blocks.max(axis=(2, 4)).mean(axis=1, keepdims=True).max(axis=2, keepdims=True).astype(f32),
     [[['nn.max_pool2d'], []], [['nn.avg_pool2d'], []], [['nn.global_max_pool2d'], []]])
xb = rng.randint(0, 256, (1, 4, 6, 2)).astype(u8)
means = xb.astype(i64).reshape(1, 2, 2, 3, 2, 2).sum(axis=(2, 4)) // 4
case('acl_avg_pool2d', 'An average of bytes through int32 is one composite', {'x': xb}, {}, '''
%%0 = cast(%%x, dtype="int32");
%%1 = nn.avg_pool2d(%%0, %s);
cast(%%1, dtype="uint8")''' % POOL, means.astype(u8), [[['cast', 'cast', 'nn.avg_pool2d'], ['avg_pool2d']]])
case('acl_global_avg_pool2d', 'So is one over everything', {'x': xb}, {}, '''
%0 = cast(%x, dtype="int32");
%1 = nn.global_avg_pool2d(%0, layout="NHWC");
cast(%1, dtype="uint8")''', (xb.astype(i64).sum(axis=(1, 2), keepdims=True) // 24).astype(u8),
     [[['cast', 'cast', 'nn.global_avg_pool2d'], ['avg_pool2d']]])
case('acl_l2_pool2d', 'The root of the mean of squares is one composite', {'x': xp}, {}, '''
%%0 = power(%%x, 2f);
%%1 = nn.avg_pool2d(%%0, %s);
sqrt(%%1)''' % POOL, np.sqrt((blocks ** 2).mean(axis=(2, 4))).astype(f32), [[['nn.avg_pool2d', 'power', 'sqrt'], ['l2_pool2d']]])
dilated = np.array([[xp[0, i:i + 3:2, j:j + 3:2].max(axis=(0, 1)) for j in range(4)] for i in range(2)])[None]
case('acl_pool_dilation', 'A dilated pool stays on the host', {'x': xp}, {}, '''
nn.max_pool2d(%x, pool_size=[2, 2], strides=[1, 1], dilation=[2, 2], padding=[0, 0, 0, 0], layout="NHWC")''',
     dilated, [], ['nn.max_pool2d'])

# --- elementwise
a, c = real(2, 3), real(2, 3)
case('acl_one_operator_each', 'Operators are not merged, even where values pass', {'a': a, 'b': c}, {}, '''
%0 = add(%a, %b);
%1 = maximum(%0, %b);
reshape(%1, newshape=[3, 2])''', np.maximum(a + c, c).reshape(3, 2), [[['add'], []], [['maximum'], []], [['reshape'], []]])
ints = rng.randint(-9, 9, (2, 3)).astype(i32)
case('acl_maximum_dtype', 'maximum of integers stays on the host', {'a': ints, 'b': -ints}, {}, '''
maximum(%a, %b)''', np.maximum(ints, -ints), [], ['maximum'])
qa, qb = rng.randint(-128, 128, (2, 3)).astype(i8), rng.randint(-128, 128, (2, 3)).astype(i8)
left, right = (q.requantize(v, f32(s), z, f32(0.1), 4, i32).astype(i64) for v, s, z in ((qa, 0.05, 3), (qb, 0.07, -2)))
case('acl_qnn_add', 'qnn.add is taken', {'a': qa, 'b': qb}, {}, '''
qnn.add(%a, %b, 0.05f, 3, 0.07f, -2, 0.1f, 4)''', np.clip(left + right - 4, -128, 127).astype(i8), [[['qnn.add'], []]])
case('acl_concatenate', 'concatenate is off by default', {'a': a, 'b': c}, {}, '''
%0 = (%a, %b);
concatenate(%0, axis=1)''', np.concatenate([a, c], 1), [], ['concatenate'])
