"""Cases of the quantised operators, for make_cases.py. Integers are Python's own
(exact) and floats NumPy's float32, after the formulas in the comments of
include/bycc/IR/Ops.def and lib/Eval/Qnn*.cpp."""
import math
from fractions import Fraction

import numpy as np

f32, i8, u8, i16, i32, i64 = np.float32, np.int8, np.uint8, np.int16, np.int32, np.int64
rng = np.random.RandomState(11)


def scale(*values):
    return np.array(values if len(values) > 1 else values[0], f32)


def zero(*values):
    return np.array(values if len(values) > 1 else values[0], i32)


def sat(value, dtype):
    info = np.iinfo(dtype)
    return max(info.min, min(info.max, int(value)))


def fixed(m):
    """M of 31 bits and e with m ~ M * 2 ** (e - 31)."""
    fraction, e = math.frexp(m)
    M = math.floor(abs(fraction) * 2 ** 31 + 0.5)
    M = M if m >= 0 else -M
    return (M // 2, e + 1) if abs(M) == 2 ** 31 else (M, e)


def scaled(x, m, rounding='UPWARD'):
    """x * m rounded: ties up, or away from zero."""
    M, e = fixed(m)
    exact = Fraction(int(x) * M) * Fraction(2) ** (e - 31)
    if rounding == 'TONEAREST' and exact < 0:
        return -math.floor(-exact + Fraction(1, 2))
    return math.floor(exact + Fraction(1, 2))


def along(values, shape, axis):
    """One value, or one per element of an axis, broadcast to a shape."""
    values = np.asarray(values)
    if values.size == 1:
        return np.full(shape, values.ravel()[0])
    view = [1] * len(shape)
    view[axis] = values.size
    return np.broadcast_to(values.reshape(view), shape)


def requantize(q, s_in, z_in, s_out, z_out, dtype, axis=-1, rounding='UPWARD'):
    q = np.asarray(q)
    s, z = along(s_in, q.shape, axis), along(z_in, q.shape, axis)
    out = [sat(int(z_out) + scaled(int(v) - int(zv), float(sv) / float(s_out), rounding), dtype)
           for v, sv, zv in zip(q.ravel(), s.ravel(), z.ravel())]
    return np.array(out, dtype).reshape(q.shape)


def away(x):
    """round half away from zero, in the dtype of x"""
    return np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x)


def requantize_real(q, s_in, z_in, s_out, z_out, dtype, real, axis=-1, rounding='UPWARD'):
    s, z = along(s_in, q.shape, axis).astype(real), along(z_in, q.shape, axis).astype(real)
    y = (s / real(s_out)) * (q.astype(real) - z) + real(z_out)
    y = np.floor(y + real(0.5)) if rounding == 'UPWARD' else away(y)
    return np.array([sat(v, dtype) for v in y.ravel()], dtype).reshape(q.shape)


def quantize(x, s, z, dtype, axis=-1):
    s, z = along(s, x.shape, axis), along(z, x.shape, axis)
    y = away(x / s) + z.astype(f32)
    return np.array([sat(v, dtype) for v in y.ravel()], dtype).reshape(x.shape)


def dequantize(q, s, z, axis=-1):
    return along(s, q.shape, axis) * (q.astype(i32) - along(z, q.shape, axis)).astype(f32)


def rand(*shape, dtype=i8):
    info = np.iinfo(dtype)
    return rng.randint(max(info.min, -3000), min(info.max, 3000) + 1, shape).astype(dtype)


def conv2d(x, w, stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    """NCHW, OIHW, in Python's order of loops, on already shifted int64 values."""
    x = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])))
    n, c, h, width = x.shape
    o, per, kh, kw = w.shape
    oh = (h - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (width - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    out = np.zeros((n, o, oh, ow), i64)
    for k in range(o):
        first = k // (o // groups) * per
        for a in range(kh):
            for b in range(kw):
                ya, xb = a * dilation[0], b * dilation[1]
                window = x[:, first:first + per, ya:ya + (oh - 1) * stride[0] + 1:stride[0],
                           xb:xb + (ow - 1) * stride[1] + 1:stride[1]]
                out[:, k] += (window * w[k, :, a, b][None, :, None, None]).sum(1)
    return out


def add_requantize(case, fails):
    op = 'qnn.requantize'
    ties = np.array([-7, -5, -3, -1, 0, 1, 3, 5, 7, 300, -300], i32)
    one = [scale(1.0), zero(0), scale(2.0), zero(0)]
    for rounding in ('UPWARD', 'TONEAREST'):
        case(op, [ties] + one, requantize(ties, 1, 0, 2, 0, i8, rounding=rounding),
             rounding=rounding, out_dtype='int8')
        for dtype, out in ((i8, i8), (u8, i8), (i8, u8), (i16, i8), (i32, u8), (i32, i16), (i64, i32)):
            x = rand(3, 4, dtype=dtype)
            s, z, so, zo = 0.37, 3, 1.9, -2 if out != u8 else 120
            case(op, [x, scale(s), zero(z), scale(so), zero(zo)],
                 requantize(x, f32(s), z, f32(so), zo, out, rounding=rounding),
                 rounding=rounding, out_dtype=np.dtype(out).name, compute_dtype='int64')
        x = rand(2, 3, 4, dtype=i32)
        s = scale(0.5, 0.013, 1.7)
        case(op, [x, s, zero(0), scale(0.25), zero(4)],
             requantize(x, s, 0, 0.25, 4, i8, axis=1, rounding=rounding),
             axis=1, rounding=rounding, out_dtype='int8')
        for compute, real in (('float32', f32), ('float64', np.float64)):
            case(op, [x, s, zero(-1, 0, 5), scale(0.3), zero(4)],
                 requantize_real(x, s, zero(-1, 0, 5), f32(0.3), 4, i8, real, 1, rounding),
                 axis=1, rounding=rounding, compute_dtype=compute, out_dtype='int8')
            case(op, [ties] + one, requantize_real(ties, f32(1), 0, f32(2), 0, i8, real, rounding=rounding),
                 rounding=rounding, compute_dtype=compute, out_dtype='int8')
    x = rand(5, dtype=i8)
    case(op, [x, scale(0.1), zero(2), scale(0.1), zero(2)], x, out_dtype='int8')
    big = np.array([2**31 - 1, -2**31, 12345678, -1], i32)
    for s, so in ((1e-3, 1.0), (1.0, 1e-3), (1e-30, 1.0), (1.0, 1e-30), (8.0, 1.0)):
        case(op, [big, scale(s), zero(1), scale(so), zero(0)], requantize(big, f32(s), 1, f32(so), 0, i32),
             out_dtype='int32')
    far = np.array([2**63 - 1, -2**63, 2**40 + 12345, -(2**40) - 999], i64)
    case(op, [far, scale(2.0**-12), zero(-7), scale(0.7), zero(0)],
         requantize(far, 2.0**-12, -7, f32(0.7), 0, i32), out_dtype='int32')
    x = rand(2, 3)
    p = [scale(0.1), zero(0), scale(0.2), zero(0)]
    fails(op, [x] + p, 'attribute out_dtype must be given')
    fails(op, [x] + p, 'out_dtype is one of int8, uint8, int16, int32, got float32', out_dtype='float32')
    fails(op, [x.astype(f32)] + p, 'x is one of int8, uint8, int16, int32, int64, got float32', out_dtype='int8')
    fails(op, [x] + p, 'rounding is one of', out_dtype='int8', rounding='UP')
    fails(op, [x] + p, 'compute_dtype is one of', out_dtype='int8', compute_dtype='int32')
    fails(op, [x, scale(0.1, 0.2)] + p[1:], 'input_scale has 2 values, axis 1 of x has 3', out_dtype='int8')
    fails(op, [x, np.float64(0.1)] + p[1:], 'input_scale is float32, got float64', out_dtype='int8')
    fails(op, [x, p[0], np.int64(0)] + p[2:], 'input_zero_point is int32, got int64', out_dtype='int8')
    fails(op, [x, p[0], p[1], scale(0.1, 0.2, 0.3), p[3]], 'output_scale is one value', out_dtype='int8')
    fails(op, [x, scale(0.1, 0.2, 0.3)] + p[1:], 'axis 4 is out of range for rank 2', out_dtype='int8', axis=4)
    fails(op, [x, scale(0.0)] + p[1:], 'a scale is positive and finite, got 0', out_dtype='int8')


def add_float(case, fails):
    x = np.array([[-3.0, -0.75, -0.25, 0.0], [0.25, 0.75, 1.25, 900.0]], f32)
    for dtype in (i8, u8, i16, np.uint16, i32):
        case('qnn.quantize', [x, scale(0.5), zero(3)], quantize(x, f32(0.5), 3, dtype),
             out_dtype=np.dtype(dtype).name)
    s, z = scale(0.1, 0.3, 2.0, 0.01), zero(0, -4, 9, 100)
    case('qnn.quantize', [x, s, z], quantize(x, s, z, i8), out_dtype='int8', axis=-1)
    case('qnn.quantize', [x, scale(0.1, 7.0), zero(0)], quantize(x, scale(0.1, 7.0), 0, u8, 0),
         out_dtype='uint8', axis=0)
    case('qnn.quantize', [np.array([np.nan, np.inf, -np.inf, 4e9, -4e9], f32), scale(1.0), zero(0)],
         np.array([0, 2**31 - 1, -2**31, 2**31 - 1, -2**31], i32), out_dtype='int32')
    fails('qnn.quantize', [x, scale(0.5), zero(3)], 'out_dtype must be given')
    fails('qnn.quantize', [x.astype(np.float64), scale(0.5), zero(3)], 'x is float32', out_dtype='int8')
    fails('qnn.quantize', [x, scale(0.5), zero(3)], 'out_dtype is one of', out_dtype='int64')
    for dtype in (i8, u8, i16, np.uint16, i32):
        q = rand(2, 4, dtype=dtype)
        case('qnn.dequantize', [q, scale(0.5), zero(3)], dequantize(q, f32(0.5), 3))
        inside = z if np.iinfo(dtype).min else z + 4
        case('qnn.dequantize', [q, s, inside], dequantize(q, s, inside), axis=1, out_dtype='float32')
    q = np.array([-100, 0, 127], i8)
    case('qnn.dequantize', [q, scale(1000.0), zero(0)], np.array([-65504, 0, 65504], np.float16),
         out_dtype='float16')
    fails('qnn.dequantize', [q, scale(1.0), zero(0)], 'out_dtype is one of float16, float32', out_dtype='int8')
    fails('qnn.dequantize', [q, scale(1.0, 2.0), zero(0)], 'input_scale has 2 values, axis 0 of x has 3')

    for code, dtype in ((1, i8), (2, u8), (3, i32)):
        wanted = quantize(x, f32(0.5), 3, dtype).astype(f32)
        case('qnn.simulated_quantize', [x, zero(code), scale(0.5), zero(3)], wanted)
        case('qnn.simulated_dequantize', [wanted, zero(code), scale(0.5), zero(3)],
             (wanted - f32(3)) * f32(0.5))
    for code in (0, -1):
        case('qnn.simulated_quantize', [x, zero(code), scale(0.5), zero(3)], x)
        case('qnn.simulated_dequantize', [x, zero(code), scale(0.5), zero(3)], x)
    wanted = quantize(x, s, z, u8).astype(f32)
    case('qnn.simulated_quantize', [x, zero(2), s, z], wanted, axis=1)
    case('qnn.simulated_dequantize', [wanted, zero(2), s, z],
         (wanted - z.astype(f32)) * s, axis=1)
    fails('qnn.simulated_quantize', [q, zero(1), scale(0.5), zero(3)], 'x is float32, got int8')


def add_products(case, fails):
    op = 'qnn.conv2d'
    for dt, wt, zx, zw in ((i8, i8, 0, 0), (u8, u8, 128, 120), (u8, i8, 7, 0), (i8, i8, -3, 5), (i16, i16, 9, -4)):
        x, w = rand(1, 4, 6, 5, dtype=dt), rand(3, 4, 3, 2, dtype=wt)
        wide = x.astype(i64) - zx, w.astype(i64) - zw
        params = [zero(zx), zero(zw), scale(0.1), scale(0.2)]
        case(op, [x, w] + params, conv2d(*wide).astype(i32))
        case(op, [x, w] + params, conv2d(*wide, pad=(1, 0, 2, 1), stride=(2, 1)).astype(i32),
             padding=[1, 0, 2, 1], strides=[2, 1], channels=3, kernel_size=[3, 2], out_dtype='int32')
        case(op, [x, w] + params, conv2d(*wide, dilation=(2, 1)), dilation=[2, 1], out_dtype='int64')
        nhwc, hwio = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
        ohwi = w.transpose(0, 2, 3, 1)
        out = conv2d(*wide, pad=(1, 1, 1, 1)).astype(i32).transpose(0, 2, 3, 1)
        case(op, [nhwc, hwio] + params, out, data_layout='NHWC', kernel_layout='HWIO', padding=[1, 1])
        case(op, [nhwc, ohwi] + params, out, data_layout='NHWC', kernel_layout='OHWI', padding=[1, 1])
    x, w = rand(1, 4, 5, 5, dtype=u8), rand(4, 1, 3, 3)
    case(op, [x, w, zero(128), zero(1), scale(0.1), scale(0.2)],
         conv2d(x.astype(i64) - 128, w.astype(i64) - 1, pad=(1, 1, 1, 1), groups=4).astype(i32),
         groups=4, padding=[1])
    case(op, [x.transpose(0, 2, 3, 1), w.transpose(2, 3, 0, 1), zero(128), zero(1), scale(0.1), scale(0.2)],
         conv2d(x.astype(i64) - 128, w.astype(i64) - 1, pad=(1, 1, 1, 1), groups=4).astype(i32).transpose(0, 2, 3, 1),
         groups=4, padding=[1], data_layout='NHWC', kernel_layout='HWOI')
    w = rand(6, 2, 3, 3)
    zw, sw = zero(1, 2, 3, -4, 5, 6), scale(.1, .2, .3, .4, .5, .6)
    case(op, [x, w, zero(5), zw, scale(0.1), sw],
         conv2d(x.astype(i64) - 5, w.astype(i64) - zw.reshape(6, 1, 1, 1), groups=2).astype(i32), groups=2)
    p = [zero(5), zero(0), scale(0.1), scale(0.1)]
    fails(op, [x.astype(f32), w] + p, 'x is one of int8, uint8, int16, got float32')
    fails(op, [x, w] + p, 'out_dtype is one of int16, int32, int64', out_dtype='int8', groups=2)
    fails(op, [x, w] + p, 'weight has 2 input channels, data has 4')
    fails(op, [x, w, zero(5), zero(1, 2), p[2], p[3]], 'kernel_zero_point has 2 values', groups=2)
    fails(op, [x, w, zero(5, 5), zero(1), p[2], p[3]], 'input_zero_point is one value', groups=2)

    op = 'qnn.conv2d_transpose'
    x, w = rand(1, 2, 3, 4, dtype=u8), rand(2, 3, 3, 2)
    for zx, zw, stride in ((0, 0, 1), (10, -3, 2)):
        a, b = x.astype(i64) - zx, w.astype(i64) - zw
        out = np.zeros((1, 3, (3 - 1) * stride + 3, (4 - 1) * stride + 2), i64)
        for i in range(3):
            for j in range(4):
                out[0, :, i * stride:i * stride + 3, j * stride:j * stride + 2] += \
                    np.einsum('c,cohw->ohw', a[0, :, i, j], b)
        case(op, [x, w, zero(zx), zero(zw), scale(0.1), scale(0.2)], out.astype(i32), strides=[stride, stride])
        case(op, [x, w, zero(zx), zero(zw), scale(0.1), scale(0.2)], out[:, :, 1:-1, 1:].astype(i32),
             strides=[stride, stride], padding=[1, 1, 1, 0])
    fails(op, [x, rand(2, 2, 1, 1), zero(0), zero(1, 2, 3, 4), scale(0.1), scale(0.2)],
          'kernel_zero_point is one value when there are groups', groups=2)

    op = 'qnn.dense'
    for dt, zx, zw in ((i8, 0, 0), (u8, 12, -3)):
        x, w = rand(3, 7, dtype=dt), rand(5, 7)
        out = (x.astype(i64) - zx) @ (w.astype(i64) - zw).T
        case(op, [x, w, zero(zx), zero(zw), scale(0.1), scale(0.2)], out.astype(i32), units=5)
        case(op, [x, w, zero(zx), zero(zw), scale(0.1), scale(0.2)], out, units=None, out_dtype='int64')
    zw = zero(1, -2, 3, 0, 9)
    case(op, [x, w, zero(2), zw, scale(0.1), scale(.1, .2, .3, .4, .5)],
         ((x.astype(i64) - 2) @ (w.astype(i64) - zw[:, None]).T).astype(i32), units=5)
    fails(op, [x, w, zero(2), zero(0), scale(0.1), scale(0.2)], 'units is 4, weight has 5', units=4)
    fails(op, [x, w, zero(2), zero(0), scale(0.1), scale(.1, .2)], 'kernel_scale has 2 values, the unit axis of weight has 5', units=5)

    op = 'qnn.batch_matmul'
    x, y = rand(2, 3, 4, dtype=u8), rand(2, 5, 4)
    out = np.einsum('bmk,bnk->bmn', x.astype(i64) - 9, y.astype(i64) - 2)
    params = [zero(9), zero(2), scale(0.1), scale(0.2)]
    case(op, [x, y] + params, out.astype(i32), transpose_b=True)
    case(op, [x, y.transpose(0, 2, 1)] + params, out.astype(i32))
    case(op, [x.transpose(0, 2, 1), y] + params, out, transpose_a=True, transpose_b=True, out_dtype='int64')
    fails(op, [x, y] + params, 'inner extents are 4 and 5')


def add_arithmetic(case, fails):
    a, b, row = rand(2, 3, 4), rand(2, 3, 4), rand(3, 1)
    same = [scale(0.5), zero(2)] * 3
    for dtype in (i8, u8, i16):
        shift = 100 if dtype == u8 else 0
        x, y = rand(2, 3, 4, dtype=dtype), rand(3, 1, dtype=dtype)
        sa, za, sb, zb, so, zo = 0.11, 5 + shift, 0.043, -1 + shift, 0.2, 3 + shift
        params = [scale(sa), zero(za), scale(sb), zero(zb), scale(so), zero(zo)]
        left = requantize(x, f32(sa), za, f32(so), zo, i32).astype(i64)
        right = requantize(y, f32(sb), zb, f32(so), zo, i32).astype(i64)
        clip = lambda v: np.array([sat(e, dtype) for e in v.ravel()], dtype).reshape(v.shape)
        case('qnn.add', [x, y] + params, clip(left + right - zo))
        case('qnn.subtract', [x, y] + params, clip(left - right + zo))
        case('qnn.subtract', [y, x] + params, clip(
            requantize(y, f32(sa), za, f32(so), zo, i32).astype(i64) -
            requantize(x, f32(sb), zb, f32(so), zo, i32).astype(i64) + zo))
        product = (x.astype(i64) - za) * (y.astype(i64) - zb)
        case('qnn.mul', [x, y] + params, requantize(product, f32(sa) * f32(sb), 0, f32(so), zo, dtype))
    case('qnn.add', [a, b] + same, np.clip(a.astype(i64) + b - 2, -128, 127).astype(i8))
    case('qnn.subtract', [a, b] + same, np.clip(a.astype(i64) - b + 2, -128, 127).astype(i8))
    sa, za, sb = scale(.1, .2, .3), zero(1, 2, 3), scale(.4, .5, .6, .7)
    so, zo = f32(0.25), -3
    left = requantize(a, sa, za, so, zo, i32, axis=1).astype(i64)
    right = requantize(b, sb, 4, so, zo, i32, axis=2).astype(i64)
    case('qnn.add', [a, b, sa, za, sb, zero(4), so, zero(zo)],
         np.clip(left + right - zo, -128, 127).astype(i8), lhs_axis=1, rhs_axis=2)
    product = (a.astype(i64) - along(za, a.shape, 1)) * (b.astype(i64) - 4)
    case('qnn.mul', [a, b, sa, za, scale(0.4), zero(4), so, zero(zo)],
         requantize(product, sa * f32(0.4), 0, so, zo, i8, axis=1), lhs_axis=1)
    case('qnn.mul', [a, b, sa, za, scale(.4, .5, .6), zero(4), so, zero(zo)],
         requantize(product, sa * scale(.4, .5, .6), 0, so, zo, i8, axis=1), lhs_axis=1, rhs_axis=1)
    big = np.array([2**31 - 1, -2**31, 5], i32)
    case('qnn.add', [big, big] + [scale(1.0), zero(0)] * 3,
         np.array([2**31 - 1, -2**31, 10], i32))
    fails('qnn.mul', [a, b, sa, za, sb, zero(4), so, zero(zo)], 'scales of both inputs run along one axis',
          lhs_axis=1, rhs_axis=2)
    fails('qnn.add', [a, b.astype(u8)] + same, 'lhs is int8, rhs is uint8')
    fails('qnn.add', [a, rand(5)] + same, 'do not broadcast')
    fails('qnn.add', [a.astype(f32), b] + same, 'lhs is one of int8, uint8, int16, int32, got float32')
    fails('qnn.add', [a, b, sa] + same[1:], 'lhs_scale has 3 values, axis 2 of lhs has 4')


def add_other(case, fails, Tuple):
    x, y = rand(2, 3), rand(2, 2)
    params = [Tuple([scale(0.5), scale(0.1)]), Tuple([zero(0), zero(4)]), scale(0.5), zero(0)]
    out = np.concatenate([x, requantize(y, f32(0.1), 4, f32(0.5), 0, i8)], 1)
    case('qnn.concatenate', [Tuple([x, y])] + params, out, axis=1)
    case('qnn.concatenate', [Tuple([x, y])] + params, out, axis=-1)
    fails('qnn.concatenate', [Tuple([x, y]), Tuple([scale(0.5)])] + params[1:], 'input_scales has 1 fields, inputs has 2', axis=1)
    fails('qnn.concatenate', [Tuple([x, y.astype(u8)])] + params, 'int8', axis=1)
    fails('qnn.concatenate', [Tuple([x, y])] + params[:1] + [Tuple([zero(0), scale(1.0)])] + params[2:],
          'a field of input_zero_points is int32, got float32', axis=1)

    x = rand(1, 2, 4, 4)
    for si, zi, so, zo in ((0.5, 3, 0.5, 3), (0.5, 3, 0.3, -4)):
        wide = requantize(x, f32(si), zi, f32(so), zo, i32).astype(i64)
        sums = wide[:, :, ::2, ::2] + wide[:, :, 1::2, ::2] + wide[:, :, ::2, 1::2] + wide[:, :, 1::2, 1::2]
        case('qnn.avg_pool2d', [x, scale(si), zero(zi), scale(so), zero(zo)],
             np.clip(np.trunc(sums / 4), -128, 127).astype(i8), pool_size=[2, 2], strides=[2, 2])
        nhwc = x.transpose(0, 2, 3, 1)
        case('qnn.avg_pool2d', [nhwc, scale(si), zero(zi), scale(so), zero(zo)],
             np.clip(np.trunc(sums / 4), -128, 127).astype(i8).transpose(0, 2, 3, 1),
             pool_size=[2, 2], strides=[2, 2], layout='NHWC')
    fails('qnn.avg_pool2d', [x.astype(f32), scale(0.5), zero(0), scale(0.5), zero(0)], 'x is one of', pool_size=[2, 2])

    for dtype, zi, zo in ((i8, 3, -7), (u8, 120, 128)):
        x = rand(3, 5, dtype=dtype)
        for alpha in (0.1, 0.25, 1.5):
            there = requantize(x, f32(0.2), zi, f32(0.3), zo, i32)
            out = [sat(scaled(t, alpha) + scaled(zo, 1 - alpha) if v < zi else t, dtype)
                   for v, t in zip(x.ravel(), there.ravel())]
            case('qnn.leaky_relu', [x, scale(0.2), zero(zi), scale(0.3), zero(zo)],
                 np.array(out, dtype).reshape(x.shape), alpha=alpha)

    table = np.arange(256)
    functions = {
        'tanh': np.tanh, 'exp': np.exp, 'sqrt': np.sqrt, 'rsqrt': lambda v: 1 / np.sqrt(v),
        'erf': np.vectorize(math.erf), 'sigmoid': lambda v: 1 / (1 + np.exp(-v)), 'log': np.log, 'abs': np.abs}
    for name, fn in functions.items():
        positive = name in ('sqrt', 'rsqrt', 'log')
        for dtype in (i8, u8):
            x = (table - (128 if dtype == i8 else 0)).astype(dtype)
            x, zi = (x[1:], x[0]) if positive else (x, x[140])
            so, zo = (0.02, 3) if name != 'exp' else (0.5, -10 if dtype == i8 else 10)
            real = dequantize(x, f32(0.03), i32(zi))
            out = quantize(fn(real.astype(np.float64)).astype(f32), f32(so), zo, dtype)
            case('qnn.' + name, [x, scale(0.03), zero(zi), scale(so), zero(zo)], out)
    x = (table - 128).astype(i8)
    real = dequantize(x, f32(0.05), 7)
    case('qnn.hardswish', [x, scale(0.05), zero(7), scale(0.04), zero(-100)],
         quantize(real * (np.clip(real + f32(3), f32(0), f32(6)) / f32(6)), f32(0.04), -100, i8))
    x = rand(4, 3, dtype=i16)
    case('qnn.tanh', [x, scale(0.001), zero(0), scale(1 / 128), zero(0)],
         quantize(np.tanh(dequantize(x, f32(0.001), 0).astype(np.float64)).astype(f32), f32(1 / 128), 0, i16))
    fails('qnn.tanh', [x, scale(0.1, 0.2, 0.3), zero(0), scale(0.1), zero(0)], 'input_scale is one value')

    x = rand(2, 6)
    for s, axis in ((0.1, -1), (0.03, 0), (1.0, 1)):
        x0 = int(math.floor(1 / f32(s) + 0.5))
        v = x.astype(i64) - x.max(axis, keepdims=True)
        v = v + (v >> 1) - (v >> 4)
        q = np.clip(-v // x0, 0, 10)
        exps = (((v + q * x0) >> 1) + x0) << (10 - q)
        out = (2**30 // exps.sum(axis, keepdims=True) * exps) >> 23
        case('qnn.softmax', [x, scale(s), zero(-2), scale(1 / 256), zero(-128)],
             requantize(out, 1 / 128, 0, 1 / 256, -128, i8), axis=axis)
    fails('qnn.softmax', [x, scale(2.0), zero(0), scale(1 / 256), zero(-128)], 'input_scale is more than 0 and at most 1')
    fails('qnn.softmax', [x.astype(u8), scale(1.0), zero(0), scale(1 / 256), zero(-128)], 'x is one of int8, got uint8')


def quantize_real(y, s, z, dtype, rounding):
    """round(y / s) + z in float32."""
    y = np.asarray(y, f32) / f32(s)
    y = {'UPWARD': lambda v: np.floor(v + f32(0.5)), 'TONEAREST': away, 'TONEAREST_EVEN': np.rint}[rounding](y)
    return np.array([sat(v, dtype) for v in (y + f32(z)).ravel()], dtype).reshape(y.shape)


def add_reals(case, fails):
    """Ties to even, and operators on real values rounded once."""
    even = dict(rounding='TONEAREST_EVEN')
    ties = np.array([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 300, -300], f32)
    for dtype, z in ((i8, 0), (i8, 3), (u8, 7)):
        for mode in ('UPWARD', 'TONEAREST', 'TONEAREST_EVEN'):
            case('qnn.quantize', [ties, scale(1.0), zero(z)], quantize_real(ties, 1, z, dtype, mode),
                 out_dtype=np.dtype(dtype).name, rounding=mode)
    fails('qnn.quantize', [ties, scale(1.0), zero(0)], 'rounding', out_dtype='int8', rounding='EVEN')
    ints = np.arange(-9, 10, dtype=i32)
    for real in (f32, np.float64):
        case('qnn.requantize', [ints, scale(0.5), zero(0), scale(1.0), zero(3)],
             np.array([sat(np.rint(v * 0.5) + 3, i8) for v in ints], i8), out_dtype='int8',
             compute_dtype=np.dtype(real).name, **even)
    sums = rng.randint(-90000, 90000, (2, 3, 5)).astype(i32)
    scales = scale(0.001, 0.0013, 0.00071)
    factor = along(scales, sums.shape, 1) / f32(0.37)
    y = np.rint(factor * sums.astype(f32)) + f32(-5)
    case('qnn.requantize', [sums, scales, zero(0), scale(0.37), zero(-5)], np.clip(y, -128, 127).astype(i8),
         out_dtype='int8', compute_dtype='float32', axis=1, **even)
    fails('qnn.requantize', [ints, scale(0.5), zero(0), scale(1.0), zero(3)],
          'TONEAREST_EVEN needs a compute_dtype', out_dtype='int8', **even)

    a, b = rand(2, 3, 4, dtype=u8), rand(3, 1, dtype=i8)
    params = [scale(0.11), zero(9), scale(0.043), zero(-3), scale(0.2), zero(60)]
    left, right = dequantize(a, f32(0.11), 9), dequantize(b, f32(0.043), -3)
    for op, y in (('add', left + right), ('subtract', left - right), ('mul', left * right)):
        for mode in ('UPWARD', 'TONEAREST_EVEN'):
            for dtype in (u8, i8):
                case('qnn.' + op, [a, b] + params, quantize_real(y, 0.2, 60, dtype, mode),
                     compute_dtype='float32', rounding=mode, out_dtype=np.dtype(dtype).name)
    half = [scale(0.5), zero(0), scale(1.0), zero(0), scale(1.0), zero(1)]
    q = np.arange(-6, 7, dtype=i8)
    case('qnn.add', [q, np.zeros(1, i8)] + half, np.array(np.rint(q * 0.5) + 1, i8), compute_dtype='float32', **even)
    fails('qnn.add', [q, q] + half, 'TONEAREST_EVEN needs a compute_dtype', **even)

    x = rand(1, 2, 4, 4, dtype=u8)
    mean = (x.astype(i32) - 100).astype(f32).reshape(1, 2, 2, 2, 2, 2).sum((3, 5)) / f32(4)
    case('qnn.avg_pool2d', [x, scale(0.3), zero(100), scale(0.2), zero(-4)],
         quantize_real(mean * (f32(0.3) / f32(0.2)), 1, -4, i8, 'TONEAREST_EVEN'), pool_size=[2, 2],
         strides=[2, 2], compute_dtype='float32', out_dtype='int8', **even)
    x = np.arange(-128, 128).astype(i8)
    y = np.abs(dequantize(x, f32(0.5), 0))
    case('qnn.abs', [x, scale(0.5), zero(0), scale(1.0), zero(1)], quantize_real(y, 1, 1, u8, 'TONEAREST_EVEN'),
         out_dtype='uint8', **even)


def add_cases(case, fails, Tuple):
    with np.errstate(all='ignore'):
        add_requantize(case, fails)
        add_float(case, fails)
        add_products(case, fails)
        add_arithmetic(case, fails)
        add_other(case, fails, Tuple)
        add_reals(case, fails)
