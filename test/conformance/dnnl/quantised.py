"""Steps of quantised programs. `bound` of an integer value is in its units: how far two
right implementations may lie apart, one unit for each quantised operator, and what the
operator makes of the distance of its operands."""

import math

import numpy as np

from programs import conv_shapes, listed, real, window_attributes

RANGE = {'int8': (-128, 127), 'uint8': (0, 255)}


def scale_of(p, low=0.004, high=0.05):
    return float(np.float32(p.pick([1 / 128, 1 / 64, low + (high - low) * p.rng.random()])))


def zero_of(p, dtype):
    low, high = RANGE[dtype]
    return p.pick([0, 0, 128 if dtype == 'uint8' else -128, p.between(low, high), p.between(low, high)])


def dtype_of(p):
    return p.pick(['int8', 'uint8'])


def start(p, shape):
    dtype = dtype_of(p)
    scale, zero = scale_of(p), zero_of(p, dtype)
    if p.chance(0.5):
        return p.input(shape, dtype, scale=scale, zero=zero)
    x = p.input(shape)
    p.values.pop()
    return quantize(p, x.name, shape, 0.0, dtype, scale, zero)


def quantize(p, name, shape, distance, dtype=None, scale=None, zero=None):
    """`distance` of the real operand."""
    dtype = dtype or dtype_of(p)
    scale, zero = scale or scale_of(p), zero_of(p, dtype) if zero is None else zero
    return p.emit('qnn.quantize(%s, %s, %d, out_dtype="%s")' % (name, real(scale), zero, dtype), shape, dtype,
                  scale=scale, zero=zero, bound=distance / scale + 1)


def dequantize(p, x):
    return p.emit('qnn.dequantize(%s, %s, %d)' % (x.name, real(x.scale), x.zero), x.shape, 'float32',
                  bound=x.bound * x.scale)


def requantized(p, name, shape, scales, zero, distance, axis):
    """From int32 or 8 bit; `scales` one or many, `distance` in real units."""
    dtype = dtype_of(p)
    spread = float(np.max(scales))
    scale = float(np.float32(p.pick([spread * 8, spread * 30, scale_of(p)])))
    spelled = real(scales[0]) if len(scales) == 1 else p.constant(np.asarray(scales, np.float32))
    out = zero_of(p, dtype)
    return p.emit('qnn.requantize(%s, %s, %d, %s, %d, axis=%d, out_dtype="%s")' % (
        name, spelled, zero, real(scale), out, axis, dtype), shape, dtype, scale=scale, zero=out,
        bound=distance / scale + 1)


def quantised_weights(p, shape, count, axis=0):
    """(array, scales, zero point); a zero point per tensor only, scales per output channel in half of the cases."""
    dtype = p.pick(['int8', 'int8', 'int8', 'uint8'])
    low, high = RANGE[dtype]
    array = p.rng.integers(low, high + 1, shape).astype(dtype)
    zero = p.pick([0, 0, p.between(-3, 3)]) if dtype == 'int8' else p.pick([128, 120, p.between(0, 255)])
    many = count if p.chance(0.5) else 1
    return array, [scale_of(p, 0.001, 0.01) for _ in range(many)], zero


def product(p, x, op, shape, attributes, result):
    """qnn.conv2d or qnn.dense with bias, activation and a change of scale."""
    array, scales, zero = quantised_weights(p, shape, shape[0])
    kernel_scale = real(scales[0]) if len(scales) == 1 else p.constant(np.asarray(scales, np.float32))
    y = p.emit('qnn.%s(%s, %s, %d, %d, %s, %s, %s, out_dtype="int32")' % (
        op, x.name, p.constant(array), x.zero, zero, real(x.scale), kernel_scale, attributes), result, 'int32')
    name = y.name
    if p.chance(0.6):
        vector = p.rng.integers(-2000, 2001, shape[0]).astype(np.int32)
        if p.chance(0.5):
            name = p.emit('nn.bias_add(%s, %s, axis=1)' % (name, p.constant(vector)), result, 'int32').name
        else:
            vector = vector.reshape([-1] + [1] * (len(result) - 2))
            name = p.emit('add(%s, %s)' % (name, p.constant(vector)), result, 'int32').name
    if p.chance(0.3):
        name = p.emit('nn.relu(%s)' % name, result, 'int32').name
    for _ in range(len(p.values)):  # int32 values are of no use to other steps
        if p.values[-1].dtype != 'int32':
            break
        p.values.pop()
    both = [np.float32(x.scale) * np.float32(s) for s in scales]
    sums = np.abs(array.astype(np.int64) - zero).reshape(shape[0], -1).sum(1)
    distance = x.bound * float(np.max(sums * np.resize(np.asarray(both, float), shape[0])))
    if p.chance(0.2):
        spelled = real(both[0]) if len(both) == 1 else p.constant(np.asarray(both, np.float32))
        return p.emit('qnn.dequantize(%s, %s, 0, axis=1)' % (name, spelled), result, 'float32', bound=distance)
    y = requantized(p, name, result, both, 0, distance, 1)
    return clipped(p, y) if p.chance(0.3) else y


def conv(p, x):
    return conv_shapes(p, x, lambda shape, attributes, result: product(p, x, 'conv2d', shape, attributes, result))


def dense(p, x):
    units = p.pick([1, 3, 8, 16, 17])
    return product(p, x, 'dense', [units, x.shape[1]], 'units=%d' % units, [x.shape[0], units])


def clipped(p, x):
    low = max(x.zero, RANGE[x.dtype][0])
    return p.emit('clip(%s, a_min=%d.0, a_max=%d.0)' % (x.name, low, RANGE[x.dtype][1] - p.pick([0, 9])), x.shape,
                  x.dtype, scale=x.scale, zero=x.zero, bound=x.bound)


def real_conv(p, x):
    """What QDQ models have: everything between dequantize and quantize is real arithmetic."""
    def made(shape, attributes, result):
        array, scales, _ = quantised_weights(p, shape, shape[0])
        array = array.astype(np.int8)
        spelled = real(scales[0]) if len(scales) == 1 else p.constant(np.asarray(scales, np.float32))
        data = 'qnn.dequantize(%s, %s, %d)' % (x.name, real(x.scale), x.zero)
        weights = 'qnn.dequantize(%s, %s, 0, axis=0)' % (p.constant(array), spelled)
        call = 'nn.conv2d(%s, %s, %s)' % (data, weights, attributes)
        if p.chance(0.6):
            call = 'nn.bias_add(%s, %s, axis=1)' % (call, p.constant(p.normal([shape[0]])))
        if p.chance(0.5):
            call = 'nn.relu(%s)' % call
        sums = np.abs(array.astype(np.int64)).reshape(shape[0], -1).sum(1)
        distance = x.bound * x.scale * float(np.max(sums * np.resize(np.asarray(scales), shape[0])))
        return quantize(p, call, result, distance, scale=scale_of(p) * math.sqrt(math.prod(shape[1:])))
    return conv_shapes(p, x, made)


def partner(p, x):
    others = [v for v in p.values if v.shape == x.shape and v.dtype in RANGE]
    return p.pick(others)


def real_add(p, x):
    y = partner(p, x)
    call = 'add(%s, %s)' % tuple('qnn.dequantize(%s, %s, %d)' % (v.name, real(v.scale), v.zero) for v in (x, y))
    if p.chance(0.5):
        call = 'nn.relu(%s)' % call
    return quantize(p, call, x.shape, x.bound * x.scale + y.bound * y.scale)


def binary(p, x):
    """qnn.add, subtract and mul: operands are rounded before they are added, each by one unit."""
    y = partner(p, x)
    op, scale = p.pick(['add', 'add', 'subtract', 'mul']), scale_of(p)
    dtype = x.dtype
    if y.dtype != dtype:
        return x
    if op == 'mul':
        reach = [max(abs(v.zero - RANGE[v.dtype][0]), abs(v.zero - RANGE[v.dtype][1])) for v in (x, y)]
        scale *= 8
        bound = (x.bound * reach[1] + y.bound * reach[0]) * x.scale * y.scale / scale + 1
    else:
        bound = (x.bound * x.scale + y.bound * y.scale) / scale + 1
    zero = zero_of(p, dtype)
    return p.emit('qnn.%s(%s, %s, %s, %d, %s, %d, %s, %d)' % (
        op, x.name, y.name, real(x.scale), x.zero, real(y.scale), y.zero, real(scale), zero), x.shape, dtype,
        scale=scale, zero=zero, bound=bound)


def change(p, x):
    return requantized(p, x.name, x.shape, [x.scale], x.zero, x.bound * x.scale, 1)


def function(p, x):
    scale, zero = scale_of(p), zero_of(p, x.dtype)
    return p.emit('qnn.%s(%s, %s, %d, %s, %d)' % (
        p.pick(['sigmoid', 'tanh', 'abs']), x.name, real(x.scale), x.zero, real(scale), zero), x.shape, x.dtype,
        scale=scale, zero=zero, bound=x.bound * x.scale / scale + 1)


def pool(p, x):
    if len(x.shape) != 4:
        return x
    kernel = [p.between(1, 3) for _ in range(2)]
    strides, dilation, begin, end, out = window_attributes(p, x.shape[2:], kernel, dilated=False, pads=p.chance(0.4))
    window = 'pool_size=%s, strides=%s, padding=%s' % (listed(kernel), listed(strides), listed(begin + end))
    shape = list(x.shape[:2]) + out
    if p.chance(0.5):
        return p.emit('nn.max_pool2d(%s, %s)' % (x.name, window), shape, x.dtype, scale=x.scale, zero=x.zero,
                      bound=x.bound)
    scale, zero = scale_of(p), zero_of(p, x.dtype)
    return p.emit('qnn.avg_pool2d(%s, %s, %d, %s, %d, %s)' % (x.name, real(x.scale), x.zero, real(scale), zero, window),
                  shape, x.dtype, scale=scale, zero=zero, bound=x.bound * x.scale / scale + 1)


def concat(p, x):
    y, scale = partner(p, x), scale_of(p)
    if y.dtype != x.dtype:
        return x
    zero = zero_of(p, x.dtype)
    shape = list(x.shape)
    shape[1] *= 2
    return p.emit('qnn.concatenate((%s, %s), (%s, %s), (%d, %d), %s, %d, axis=1)' % (
        x.name, y.name, real(x.scale), real(y.scale), x.zero, y.zero, real(scale), zero), shape, x.dtype,
        scale=scale, zero=zero, bound=max(x.bound * x.scale, y.bound * y.scale) / scale + 1)
