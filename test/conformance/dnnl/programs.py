"""Random small Relay programs out of the operators that dnnl takes.

A Program keeps its text, its constants (arrays, bound with --params) and its inputs. Values stay of
moderate size, so that results can be compared: weights are scaled by their fan-in."""

import math

import numpy as np

SPATIAL = {1: 'W', 2: 'HW', 3: 'DHW'}
RUN_TIME = 'n'  # the extent that comes at run time


class Value:
    def __init__(self, name, shape, dtype, bound=0.0, scale=None, zero=0, size=1.0):
        self.name, self.shape, self.dtype = name, tuple(shape), dtype
        self.bound, self.scale, self.zero = bound, scale, zero
        self.size = size  # of an input


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.lines, self.constants, self.inputs, self.values = [], {}, [], []
        self.count = 0
        self.batch = None  # with a run-time extent: what it is counted as while shapes are made

    # --- text

    def emit(self, call, shape, dtype, **kept):
        name = '%%%d' % self.count
        self.count += 1
        self.lines.append('  %s = %s;' % (name, call))
        value = Value(name, shape, dtype, **kept)
        self.values.append(value)
        return value

    def input(self, shape, dtype='float32', **kept):
        value = Value('%%x%d' % len(self.inputs), shape, dtype, **kept)
        self.inputs.append(value)
        self.values.append(value)
        return value

    def constant(self, array):
        name = 'c%d' % len(self.constants)
        self.constants[name] = np.ascontiguousarray(array)
        return '%' + name

    def weights(self, shape, fan_in):
        return self.constant(self.normal(shape) / np.float32(math.sqrt(max(1, fan_in))))

    def normal(self, shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def spelled(self, value):
        shape = list(map(str, value.shape))
        if self.batch is not None and value.shape and value.shape[0] == self.batch:
            shape[0] = RUN_TIME
        return 'Tensor[(%s), %s]' % (', '.join(shape), value.dtype)

    def text(self, outputs):
        params = ['%s: %s' % (v.name, self.spelled(v)) for v in self.inputs]
        params += ['%%%s: Tensor[(%s), %s]' % (n, ', '.join(map(str, a.shape)), DTYPES[a.dtype.str])
                   for n, a in self.constants.items()]
        names = ', '.join(v.name for v in outputs)
        result = '(%s)' % names if len(outputs) > 1 else names
        return '#[version = "0.0.5"]\ndef @main(%s) {\n%s\n  %s\n}\n' % (
            ', '.join(params), '\n'.join(self.lines), result)

    # --- choices

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, sequence):
        return sequence[int(self.rng.integers(len(sequence)))]

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def outputs(self):
        """The last value, and now and then others, inputs of further steps among them."""
        made = self.values[len(self.inputs):]
        out = [made[-1]]
        for value in made[:-1]:
            if self.chance(0.2) and len(out) < 4:
                out.append(value)
        return out


DTYPES = {'<f4': 'float32', '|i1': 'int8', '|u1': 'uint8', '<i4': 'int32'}


def listed(numbers):
    return '[%s]' % ', '.join(map(str, numbers))


def real(number):
    return repr(float(np.float32(number))) + 'f'


# --- windows

def window_attributes(p, extents, kernel, stride_max=3, dilated=True, pads=True):
    """Strides, dilation and padding with at least one result element, or None."""
    n = len(extents)
    strides = [p.pick([1, 1, 2, stride_max]) for _ in range(n)]
    dilation = [p.pick([1, 1, 1, 2]) if dilated else 1 for _ in range(n)]
    begin = [p.between(0, 2) if pads else 0 for _ in range(n)]
    end = [p.between(0, 2) if pads else 0 for _ in range(n)]
    if p.chance(0.5):
        end = list(begin)
    for i in range(n):
        short = (kernel[i] - 1) * dilation[i] + 1 - (extents[i] + begin[i] + end[i])
        end[i] += max(0, short)
    out = [(extents[i] + begin[i] + end[i] - (kernel[i] - 1) * dilation[i] - 1) // strides[i] + 1
           for i in range(n)]
    return strides, dilation, begin, end, out


def image(p, spatial, channels=None):
    extents = [p.pick([1, 2, 3, 5, 7, 8, 9, 13] if spatial < 3 else [1, 2, 4, 5]) for _ in range(spatial)]
    return [p.pick([1, 1, 2, 3]), channels or p.pick([1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 33])] + extents


def channels_and_groups(p, channels):
    kind = p.pick(['plain', 'plain', 'grouped', 'depthwise', 'multiplied'])
    if channels == 0:
        return p.pick([1, 2, 3]), 1
    if kind == 'depthwise':
        return channels, channels
    if kind == 'multiplied':
        return 2 * channels, channels
    if kind == 'grouped':
        groups = p.pick([g for g in (1, 2, 3, 4, 8) if channels % g == 0])
        return groups * p.pick([1, 2, 3, 5, 8, 16]), groups
    return p.pick([1, 2, 3, 5, 8, 15, 16, 17, 32, 40]), 1


def conv_shapes(p, x, made):
    """made(shape of the weights, attributes, shape of the result) for a convolution of x (N, C, spatial)."""
    spatial = len(x.shape) - 2
    count, groups = channels_and_groups(p, x.shape[1])
    kernel = [p.pick([1, 1, 2, 3, 3, 5, 7] if spatial < 3 else [1, 2, 3]) for _ in range(spatial)]
    strides, dilation, begin, end, out = window_attributes(p, x.shape[2:], kernel)
    attributes = 'strides=%s, padding=%s, dilation=%s, groups=%d, channels=%d, kernel_size=%s' % (
        listed(strides), listed(begin + end), listed(dilation), groups, count, listed(kernel))
    return made([count, x.shape[1] // groups] + kernel, attributes, [x.shape[0], count] + out)


def conv(p, x):
    return conv_shapes(p, x, lambda *shapes: real_conv(p, x, *shapes))


def real_conv(p, x, shape, attributes, result):
    """NCHW or, between transposes, NHWC."""
    spatial, kernel = len(x.shape) - 2, shape[2:]
    fan_in = math.prod(shape[1:])
    order = SPATIAL[spatial]
    if p.chance(0.25):
        forward = [0] + list(range(2, spatial + 2)) + [1]
        data = p.emit('transpose(%s, axes=%s)' % (x.name, listed(forward)), [x.shape[a] for a in forward], x.dtype)
        hwio = kernel + [shape[1], shape[0]]
        y = p.emit('nn.conv%dd(%s, %s, %s, data_layout="N%sC", kernel_layout="%sIO")' % (
            spatial, data.name, weight(p, x, hwio, fan_in), attributes, order, order),
            [result[a] for a in forward], x.dtype)
        if p.chance(0.6):
            y = follow(p, y, axis=spatial + 1)
        backward = [0, spatial + 1] + list(range(1, spatial + 1))
        return p.emit('transpose(%s, axes=%s)' % (y.name, listed(backward)), result, x.dtype)
    y = p.emit('nn.conv%dd(%s, %s, %s)' % (spatial, x.name, weight(p, x, shape, fan_in), attributes),
               result, x.dtype)
    return follow(p, y, axis=1)


def weight(p, x, shape, fan_in):
    """Constant weights, now and then an input; of the dtype of x."""
    if p.chance(0.12):
        name = p.input(shape, size=1 / math.sqrt(max(1, fan_in))).name
    else:
        name = p.weights(shape, fan_in)
    return name if x.dtype == 'float32' else 'cast(%s, dtype="%s")' % (name, x.dtype)


def deconv(p, x):
    spatial = len(x.shape) - 2
    groups = p.pick([g for g in (1, 1, 2, 3) if x.shape[1] % g == 0]) if x.shape[1] else 1
    per_group = p.pick([1, 2, 3, 5, 8, 16])
    kernel = [p.between(1, 4) for _ in range(spatial)]
    strides = [p.between(1, 3) for _ in range(spatial)]
    dilation = [p.pick([1, 1, 2]) for _ in range(spatial)]
    begin, end, extra, out = [], [], [], []
    for i in range(spatial):
        reach = (x.shape[i + 2] - 1) * strides[i] + (kernel[i] - 1) * dilation[i] + 1
        most = max(0, min(2, (reach - 1) // 2, (kernel[i] - 1) * dilation[i]))
        begin.append(p.between(0, most))
        end.append(p.between(0, most))
        extra.append(p.pick([0, 0, 1]) if strides[i] > 1 else 0)
        out.append(reach - begin[i] - end[i] + extra[i])
    y = p.emit('nn.conv%dd_transpose(%s, %s, strides=%s, padding=%s, dilation=%s, output_padding=%s, groups=%d, '
               'channels=%d, kernel_size=%s)' % (
                   spatial, x.name, weight(p, x, [x.shape[1], per_group] + kernel, x.shape[1] * math.prod(kernel)),
                   listed(strides), listed(begin + end), listed(dilation), listed(extra), groups,
                   groups * per_group, listed(kernel)),
               [x.shape[0], groups * per_group] + out, x.dtype)
    return follow(p, y, axis=1)


def pool(p, x):
    spatial = len(x.shape) - 2
    kind = p.pick(['max', 'avg'])
    if p.chance(0.2) and spatial == 2:
        return p.emit('nn.global_%s_pool2d(%s)' % (kind, x.name), list(x.shape[:2]) + [1, 1], x.dtype)
    kernel = [p.between(1, 4) for _ in range(spatial)]
    strides, dilation, begin, end, out = window_attributes(p, x.shape[2:], kernel, dilated=p.chance(0.15))
    attributes = ''
    if p.chance(0.3):
        attributes += ', ceil_mode=True'
        out = [-(-(x.shape[i + 2] + begin[i] + end[i] - (kernel[i] - 1) * dilation[i] - 1) // strides[i]) + 1
               for i in range(spatial)]
    if kind == 'avg' and p.chance(0.5):
        attributes += ', count_include_pad=True'
    return p.emit('nn.%s_pool%dd(%s, pool_size=%s, strides=%s, dilation=%s, padding=%s%s)' % (
        kind, spatial, x.name, listed(kernel), listed(strides), listed(dilation), listed(begin + end), attributes),
        list(x.shape[:2]) + out, x.dtype)


# --- products

def dense(p, x):
    units = p.pick([1, 2, 3, 7, 8, 16, 17, 33])
    y = p.emit('nn.dense(%s, %s, units=%d)' % (x.name, weight(p, x, [units, x.shape[-1]], x.shape[-1]), units),
               list(x.shape[:-1]) + [units], x.dtype)
    return follow(p, y, axis=len(y.shape) - 1)


def matmul(p, x):
    """x (.., M, K) with constants or another value of the program, either transposed, batches broadcast."""
    if len(x.shape) > 3:
        shape = [math.prod(x.shape[:-2])] + list(x.shape[-2:])
        flat = p.emit('reshape(%s, newshape=%s)' % (x.name, listed(shape)), shape, x.dtype)
        y = batch_matmul(p, flat)
        return p.emit('reshape(%s, newshape=%s)' % (y.name, listed(list(x.shape[:-2]) + list(y.shape[-2:]))),
                      list(x.shape[:-2]) + list(y.shape[-2:]), y.dtype)
    if len(x.shape) == 3 and p.chance(0.7):
        return batch_matmul(p, x)
    return plain_matmul(p, x)


def other_operand(p, x, rank, k, turned):
    """(name, N, what to scale by) of the right operand."""
    lead = [d if p.chance(0.7) else 1 for d in x.shape[:-2]] if rank == 3 else []
    others = [v for v in p.values if v.dtype == x.dtype and len(v.shape) == rank
              and (rank == 2 or v.shape[0] in (1, x.shape[0])) and v.shape[-1 if turned else -2] == k]
    if others and p.chance(0.4):
        other = p.pick(others)
        return other.name, other.shape[-2 if turned else -1], 1 / math.sqrt(max(1, k))
    n = p.pick([1, 2, 5, 8, 16, 19])
    return weight(p, x, lead + ([n, k] if turned else [k, n]), k), n, None


def product(p, x, rank):
    a_turned, b_turned = p.chance(0.3 if len(x.shape) == rank else 0), p.chance(0.4)
    k, m = (x.shape[-2], x.shape[-1]) if a_turned else (x.shape[-1], x.shape[-2])
    name, n, scale = other_operand(p, x, rank, k, b_turned)
    op, units = ('nn.batch_matmul', '') if rank == 3 else ('nn.matmul', ', units=%d' % n)
    y = p.emit('%s(%s, %s, transpose_a=%s, transpose_b=%s%s)' % (op, x.name, name, a_turned, b_turned, units),
               list(x.shape[:-2]) + [m, n], x.dtype)
    if scale:
        y = p.emit('multiply(%s, %s)' % (y.name, scalar(p, scale, x.dtype)), y.shape, y.dtype)
    return follow(p, y, axis=len(x.shape) - 1)


def batch_matmul(p, x):
    return product(p, x, 3)


def plain_matmul(p, x):
    return product(p, x, 2)


# --- what follows products

def scalar(p, number, dtype):
    return real(number) if dtype == 'float32' else 'cast(%s, dtype="%s")' % (real(number), dtype)


def activation(p, x):
    one = lambda number: scalar(p, number, x.dtype)
    emit = lambda call: p.emit(call, x.shape, x.dtype)
    kind = p.pick(['relu', 'relu', 'clip', 'swish', 'hardswish', 'gelu', 'tanh gelu', 'sigmoid', 'tanh', 'leaky', 'abs', 'mish'])
    if kind in ('sigmoid', 'tanh', 'abs'):
        return emit('%s(%s)' % (kind, x.name))
    if kind == 'relu':
        return emit('nn.relu(%s)' % x.name)
    if kind == 'leaky':
        return emit('nn.leaky_relu(%s, alpha=%s)' % (x.name, p.pick([0.1, 0.25])))
    if kind == 'clip':
        return emit('clip(%s, a_min=%s, a_max=%s)' % (x.name, p.pick([-1.0, 0.0, 0.25]), p.pick([0.5, 6.0])))
    if kind == 'swish':
        return emit('multiply(%s, %s)' % (x.name, emit('sigmoid(%s)' % x.name).name))
    if kind == 'mish':
        inner = emit('log(%s)' % emit('add(%s, %s)' % (emit('exp(%s)' % x.name).name, one(1))).name)
        return emit('multiply(%s, %s)' % (x.name, emit('tanh(%s)' % inner.name).name))
    if kind == 'hardswish':
        bent = emit('clip(%s, a_min=0.0, a_max=6.0)' % emit('add(%s, %s)' % (x.name, one(3))).name)
        if p.chance(0.5):
            return emit('divide(%s, %s)' % (emit('multiply(%s, %s)' % (x.name, bent.name)).name, one(6)))
        return emit('multiply(%s, %s)' % (x.name, emit('divide(%s, %s)' % (bent.name, one(6))).name))
    if kind == 'tanh gelu':
        cube = emit('multiply(%s, %s)' % (x.name, emit('multiply(%s, %s)' % (x.name, x.name)).name))
        if p.chance(0.5):
            cube = emit('power(%s, %s)' % (x.name, one(3)))
        bent = emit('add(%s, %s)' % (x.name, emit('multiply(%s, %s)' % (one(0.044715), cube.name)).name))
        gate = emit('tanh(%s)' % emit('multiply(%s, %s)' % (one(math.sqrt(2 / math.pi)), bent.name)).name)
        cdf = emit('multiply(%s, %s)' % (one(0.5), emit('add(%s, %s)' % (one(1), gate.name)).name))
        return emit('multiply(%s, %s)' % (x.name, cdf.name))
    g = emit('add(%s, %s)' % (emit('erf(%s)' % emit('divide(%s, %s)' % (x.name, one(math.sqrt(2)))).name).name, one(1)))
    if p.chance(0.5):
        return emit('multiply(%s, %s)' % (emit('multiply(%s, %s)' % (x.name, g.name)).name, one(0.5)))
    return emit('multiply(%s, %s)' % (emit('multiply(%s, %s)' % (x.name, one(0.5))).name, g.name))


def bias(p, x, axis):
    array = p.normal([x.shape[axis]])
    cast = lambda name: name if x.dtype == 'float32' else 'cast(%s, dtype="%s")' % (name, x.dtype)
    if p.chance(0.5):
        return p.emit('nn.bias_add(%s, %s, axis=%d)' % (x.name, cast(p.constant(array)), axis), x.shape, x.dtype)
    array = array.reshape([-1] + [1] * (len(x.shape) - 1 - axis))
    return p.emit('add(%s, %s)' % (x.name, cast(p.constant(array))), x.shape, x.dtype)


def binary(p, x):
    """With another value, whole or broadcast, a constant or an input; either may come first."""
    op = p.pick(['add', 'add', 'multiply', 'subtract', 'maximum', 'minimum'])
    alike = [v for v in p.values if v.dtype == x.dtype and v.shape == x.shape]
    kind = p.rng.random()
    if alike and kind < 0.5:
        other = p.pick(alike).name
    else:
        shape = [d if p.chance(0.6) else 1 for d in x.shape][p.pick([0, 0, 1]):]
        if p.batch is not None:
            shape = shape[-1:]
        other = p.input(shape).name if kind > 0.75 and p.batch is None else p.constant(p.normal(shape))
        if x.dtype != 'float32':
            other = 'cast(%s, dtype="%s")' % (other, x.dtype)
    pair = (x.name, other) if p.chance(0.7) else (other, x.name)
    y = p.emit('%s(%s, %s)' % ((op,) + pair), x.shape, x.dtype)
    return p.emit('tanh(%s)' % y.name, y.shape, y.dtype) if op == 'multiply' and alike else y


def follow(p, x, axis):
    if p.chance(0.6):
        x = bias(p, x, axis)
    for _ in range(p.pick([0, 1, 1, 2, 3])):
        x = activation(p, x) if p.chance(0.6) else binary(p, x)
    return x


# --- the rest

def softmax(p, x):
    return p.emit('nn.%s(%s, axis=%d)' % (p.pick(['softmax', 'softmax', 'log_softmax']), x.name,
                                          p.between(-len(x.shape), len(x.shape) - 1)), x.shape, x.dtype)


def layer_norm(p, x):
    n = x.shape[-1]
    cast = lambda name: name if x.dtype == 'float32' else 'cast(%s, dtype="%s")' % (name, x.dtype)
    return p.emit('nn.layer_norm(%s, %s, %s, axis=-1, epsilon=%s)' % (
        x.name, cast(p.constant(p.normal([n]))), cast(p.constant(p.normal([n]))), p.pick([1e-2, 1e-1])),
        x.shape, x.dtype)


def reduction(p, x):
    axes = sorted({p.between(1 if p.batch is not None else 0, len(x.shape) - 1) for _ in range(p.between(1, 3))})
    keeps = p.chance(0.5)
    shape = [1 if i in axes else d for i, d in enumerate(x.shape) if keeps or i not in axes]
    if not shape:
        return x
    return p.emit('%s(%s, axis=%s, keepdims=%s)' % (
        p.pick(['mean', 'mean', 'sum', 'max', 'min']), x.name, listed(axes), keeps), shape, x.dtype)


def transpose(p, x):
    fixed = [0] if p.batch is not None else []
    axes = fixed + [int(a) for a in p.rng.permutation(range(len(fixed), len(x.shape)))]
    return p.emit('transpose(%s, axes=%s)' % (x.name, listed(axes)), [x.shape[a] for a in axes], x.dtype)


def reshape(p, x):
    """Joins two axes, or splits one; the first stays where it comes at run time."""
    shape = list(x.shape)
    at = p.between(1 if p.batch is not None else 0, len(shape) - 1)
    divisors = [d for d in (2, 3, 4) if shape[at] % d == 0 and shape[at]]
    if len(shape) < 4 and divisors:
        d = p.pick(divisors)
        shape[at:at + 1] = [d, shape[at] // d] if p.chance(0.5) else [shape[at] // d, d]
    elif at + 1 < len(shape):
        shape[at:at + 2] = [shape[at] * shape[at + 1]]
    else:
        return p.emit('expand_dims(%s, axis=%d)' % (x.name, at), shape[:at] + [1] + shape[at:], x.dtype)
    spelled = [-1] + shape[1:] if p.batch is not None else shape
    return p.emit('reshape(%s, newshape=%s)' % (x.name, listed(spelled)), shape, x.dtype)


def concat(p, x):
    axis = p.between(1 if p.batch is not None else 0, len(x.shape) - 1)
    others = [v for v in p.values if v.dtype == x.dtype and len(v.shape) == len(x.shape)
              and all(i == axis or a == b for i, (a, b) in enumerate(zip(v.shape, x.shape)))]
    parts = [x] + [p.pick(others) for _ in range(p.between(1, 3))]
    parts = [parts[i] for i in p.rng.permutation(len(parts))]
    shape = list(x.shape)
    shape[axis] = sum(v.shape[axis] for v in parts)
    name = '(%s)' % ', '.join(v.name for v in parts)
    return p.emit('concatenate(%s, axis=%d)' % (name, axis), shape, x.dtype)


def split(p, x):
    axes = [i for i in range(1 if p.batch is not None else 0, len(x.shape)) if x.shape[i] > 1]
    if not axes:
        return x
    axis = p.pick(axes)
    at = p.between(1, x.shape[axis] - 1)
    name = '%%%d' % p.count
    p.count += 1
    p.lines.append('  %s = split(%s, indices_or_sections=[%d], axis=%d);' % (name, x.name, at, axis))
    parts = []
    for i, extent in enumerate((at, x.shape[axis] - at)):
        shape = list(x.shape)
        shape[axis] = extent
        parts.append(Value('%s.%d' % (name, i), shape, x.dtype))
    p.values += parts
    return p.pick(parts)


def part(p, x):
    axes = [i for i in range(1 if p.batch is not None else 0, len(x.shape)) if x.shape[i] > 1]
    if not axes:
        return x
    axis = p.pick(axes)
    begin = p.between(0, x.shape[axis] - 1)
    end, stride = p.between(begin + 1, x.shape[axis]), p.pick([1, 1, 2])
    shape = list(x.shape)
    shape[axis] = -(-(end - begin) // stride)
    return p.emit('strided_slice(%s, begin=[%d], end=[%d], strides=[%d], axes=[%d])' % (
        x.name, begin, end, stride, axis), shape, x.dtype)


def cast_through(p, x):
    """A stretch in bfloat16, or back from it."""
    to = 'bfloat16' if x.dtype == 'float32' else 'float32'
    return p.emit('cast(%s, dtype="%s")' % (x.name, to), x.shape, to)
