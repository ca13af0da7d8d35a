"""Cases of the operators that library kernels compute, and of einsum, layouts and
grids; expected values by plain loops over the definitions."""
import itertools

import numpy as np

f16, f32, f64, i32, i64, u8 = np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8


def add_cases(case, fails, Tuple, Typed):
    rng = np.random.RandomState(11)

    def rand(*shape, dtype=f32, low=-2, high=2):
        if np.issubdtype(dtype, np.integer):
            return rng.randint(low, high + 1, shape).astype(dtype)
        return np.round(rng.uniform(low, high, shape), 2).astype(dtype)

    sorting(case, fails, rand, Typed)
    scatters(case, fails, rand)
    products(case, fails, rand, Tuple)
    layouts(case, rand)
    signals(case, fails, rand)
    resizes(case, fails, rand)
    grids(case, fails, rand)
    boxes(case, fails, rand)
    regions(case, fails, rand)
    sparse(case, fails, rand)
    pools(case, rand)
    padded_products(case, rand)


def sorting(case, fails, rand, Typed):
    nan, inf = np.nan, np.inf
    x = np.array([[3, nan, -1, 3], [inf, 0, -0.0, -inf]], f32)
    case('sort', [x], np.sort(x), axis=-1, is_ascend=True)
    case('argsort', [x], np.argsort(x, kind='stable').astype(i32), axis=-1, is_ascend=True)
    case('argsort', [np.array([1, 2, 2, 1], i64)], np.array([1, 2, 0, 3], i64), axis=0, is_ascend=False, dtype='int64')
    for dtype in (f16, f64, u8, i64):
        y = rand(3, 5, dtype=dtype, low=0, high=9)
        case('sort', [y], np.sort(y, axis=0), axis=0, is_ascend=True)
        case('topk', [y], [-np.sort(-y.astype(f64))[:, :2].astype(dtype), np.argsort(-y.astype(f64), kind='stable')[:, :2].astype(i32)], k=2, axis=1)
    case('sort', [Typed('bfloat16', [1.5, -2, 0.25])], Typed('bfloat16', [-2, 0.25, 1.5]), axis=0, is_ascend=True)
    empty = np.zeros((0, 3), f32)
    case('sort', [empty], empty, axis=0, is_ascend=True)
    case('topk', [np.zeros((2, 0), f32)], [np.zeros((2, 0), f32), np.zeros((2, 0), i32)], k=0)
    big = np.array([2 ** 62, 2 ** 62 + 1, -2 ** 62], i64)
    case('sort', [big], np.sort(big)[::-1], axis=0, is_ascend=False)
    fails('dyn.topk', [x, np.array([9], i64)], 'k is 9')
    case('argwhere', [np.zeros((0, 2), f32)], np.zeros((0, 2), i32))
    case('argwhere', [np.array(1.0, f32)], np.zeros((1, 0), i32))
    case('argwhere', [np.array([nan, 0, -0.0, 2], f32)], np.array([[0], [3]], i32))
    m = np.array([[1, 0], [2, 3], [1, 0], [0, 9]], i32)
    case('unique', [m], [np.array([[0, 9], [1, 0], [2, 3]], i32), np.array([3, 0, 1], i32), np.array([1, 2, 1, 0], i32), np.array([3], i32),
                         np.array([1, 2, 1], i32)], axis=0, return_counts=True)
    case('unique', [m.T], [np.array([[1, 2, 0], [0, 3, 9]], i32), np.array([0, 1, 3], i32), np.array([0, 1, 0, 2], i32), np.array([3], i32)], axis=-1, sorted=False)
    case('unique', [np.zeros(0, f32)], [np.zeros(0, f32), np.zeros(0, i32), np.zeros(0, i32), np.array([0], i32)])
    fails('unique', [m], 'rank 1')
    case('cumsum', [np.array([[100, 100], [100, 100]], u8)], np.array([[100, 100], [200, 200]], u8), axis=0)
    case('cumsum', [np.array([200, 100], u8)], np.array([200, 44], u8), axis=0)
    case('cumsum', [np.zeros((2, 0), f32)], np.zeros((2, 0), f32), axis=0)
    y = rand(2, 3, 2, dtype=f64)
    case('cumprod', [y], np.cumprod(y, axis=1), axis=1)
    case('cumsum', [y], np.concatenate([np.zeros((2, 3, 1)), np.cumsum(y, axis=2)[:, :, :1]], axis=2), axis=-1, exclusive=True)
    case('cumsum', [np.array([True, True, False, True])], np.array([1, 2, 2, 3], i32), axis=0, dtype='int32')
    s = np.array([[1, 2, 2, 4], [0, 1, 2, 3]], i32)
    v = np.array([[2, 5], [0, 2]], i32)
    for right in (False, True):
        want = np.stack([np.searchsorted(a, b, side='right' if right else 'left') for a, b in zip(s, v)])
        case('searchsorted', [s, v], want.astype(i32), right=right)
    fails('invert_permutation', [np.array([0, 2, 2], i32)], 'not a permutation')


def scatters(case, fails, rand):
    x, idx, upd = rand(4, 3), np.array([[1, 1, -1], [1, 0, 3]], i64), rand(2, 3)
    ops = {'update': lambda a, b: b, 'add': lambda a, b: a + b, 'mul': lambda a, b: a * b, 'min': min, 'max': max}
    for how, join in ops.items():
        want = x.astype(f64).copy()
        for i, j in itertools.product(range(2), range(3)):
            want[idx[i, j] % 4, j] = join(want[idx[i, j] % 4, j], float(upd[i, j]))
        case('scatter_elements', [x, idx, upd], want.astype(f32), axis=0, reduction=how)
    # every dtype's loop, axes that fall together and that do not, an index twice
    for dtype, how in itertools.product((f64, f32, f16, np.int64, i32, np.int8, np.uint8), ops):
        to = (rand(2, 5, 1, 3) * 9).astype(dtype)
        for axis, shape in ((1, (2, 7, 1, 3)), (0, (4, 5, 1, 3)), (3, (2, 5, 1, 6)), (2, (2, 5, 2, 3)), (1, (1, 4, 1, 2))):
            put = (rand(*shape) * 9).astype(dtype)
            at = (np.arange(put.size).reshape(shape) * 7 % to.shape[axis]).astype(i64)
            want = to.copy()
            for place in itertools.product(*map(range, shape)):
                goal = list(place)
                goal[axis] = at[place]
                want[tuple(goal)] = ops[how](want[tuple(goal)], put[place])
            case('scatter_elements', [to, at, put], want, axis=axis, reduction=how)
    a = np.array([1, 2, 3], i32)
    case('scatter_elements', [a, np.array([1, 1, 1], i64), np.array([5, 6, 9], i32)], np.array([1, 5, 3], i32), reduction='mean')
    case('scatter_elements', [a, np.zeros(0, i64), np.zeros(0, i32)], a)
    big = np.array([2 ** 62, 5], i64)
    case('scatter_elements', [big, np.array([0], i64), np.array([3], i64)], np.array([2 ** 62 + 3, 5], i64), reduction='add')
    fails('scatter_elements', [a, np.array([3], i64), np.array([5], i32)], 'index 3 is out of range')
    fails('scatter_elements', [a, np.array([-4], i64), np.array([5], i32)], 'index -4 is out of range')
    where = np.array([[0, 0, 3], [2, 2, 1]], i64)  # coordinates of three rows
    vals = np.array([1, 2, 4], f16)
    want = np.zeros((4, 3), f16)
    for p in range(3):
        want[where[0, p], where[1, p]] += vals[p]
    case('scatter_nd', [np.zeros((4, 3), f16), where, vals], want, mode='add')
    fails('scatter_nd', [np.zeros((4, 3), f16), where + 2, vals], 'out of range')


def products(case, fails, rand, Tuple):
    def check(equation, *operands):
        case('einsum', [Tuple(operands)], np.einsum(equation, *[o.astype(f64) for o in operands]).astype(operands[0].dtype), equation=equation)
    a, b, c = rand(2, 3), rand(3, 4), rand(4, 2)
    check('ij,jk,kl->il', a, b, c)
    check('ij,jk,ki', a, b, c)
    check('ij->ji', a)
    check('ij->', a)
    check('iji->j', rand(2, 3, 2))
    check('ii->i', rand(3, 3))
    check(',ij->ij', np.array(2.0, f32), a)
    check('...ij,...jk->...ik', rand(2, 1, 2, 3), rand(5, 3, 4))
    check('i...->...i', rand(2, 3, 4))
    check('...', a)
    check('bij,bjk', rand(2, 3, 4), rand(2, 4, 2))
    check('ij,ij->ij', a, a)
    check('i,j->ij', rand(3), rand(2))
    check('ij,jk->ik', rand(2, 3, dtype=i32), rand(3, 2, dtype=i32))
    check('ij,jk->ik', rand(2, 3, dtype=f64), rand(3, 2, dtype=f64))
    check('ij,jk->ik', rand(2, 3, dtype=f16), rand(3, 2, dtype=f16))
    check('bhqd,bhkd->bhqk', rand(1, 2, 3, 4), rand(1, 2, 5, 4))
    check('ij,jk->ik', np.zeros((2, 0), f32), np.zeros((0, 3), f32))
    fails('einsum', [Tuple([a])], 'no ellipsis', equation='...->')
    fails('einsum', [Tuple([a])], "holds '1'", equation='i1->i')
    fails('einsum', [Tuple([a])], 'twice', equation='ij->ii')
    fails('einsum', [Tuple([a])], 'no input does', equation='ij->k')
    fails('einsum', [Tuple([a, b])], 'names 1 inputs, got 2', equation='ij->i')
    fails('einsum', [Tuple([a])], 'has rank 3, got 2', equation='ijk->i')
    x = rand(3, 4, low=0.1, high=1)
    y = rand(3, 4, low=0, high=1, dtype=f64)
    case('nn.cross_entropy', [x.astype(f64), y], -(np.log(x.astype(f64)) * y).sum() / 3)
    case('nn.cross_entropy_with_logits', [x.astype(f64), y], -(x.astype(f64) * y).sum() / 3)
    p, t, w = rand(2, 3, 2), np.array([[0, 2], [1, 0]], i64), rand(3, low=0.5, high=2)
    loss = np.array([[-w[t[n, i]] * p[n, t[n, i], i] for i in range(2)] for n in range(2)])
    loss[t == 1] = 0
    case('nn.nll_loss', [p, t, w], loss.astype(f32), reduction='none', ignore_index=1)
    case('nn.nll_loss', [p, t, w], loss.sum().astype(f32), reduction='sum', ignore_index=1)
    case('nn.nll_loss', [p, t, w], (loss.sum() / w[t][t != 1].sum()).astype(f32), reduction='mean', ignore_index=1)
    fails('nn.nll_loss', [p, t + 2, w], 'target 4 is out of range', status='ARG', reduction='sum', ignore_index=-1)
    for n in (1, 3):
        m = rand(2, n, n, dtype=f64)
        case('linalg.det', [m], np.linalg.det(m))
    case('linalg.det', [np.array([[0, 2], [3, 4]], f32)], np.array(-6, f32))
    case('linalg.det', [np.ones((3, 3), f32)], np.array(0, f32))
    case('linalg.det', [np.zeros((2, 0, 0), f32)], np.ones(2, f32))
    fails('linalg.det', [a], 'columns')


def layouts(case, rand):
    x = rand(1, 8, 2, 3)
    blocked = x.reshape(1, 2, 4, 2, 3).transpose(0, 1, 3, 4, 2)
    case('layout_transform', [x], blocked, src_layout='NCHW', dst_layout='NCHW4c')
    case('layout_transform', [blocked], x.transpose(0, 2, 3, 1), src_layout='NCHW4c', dst_layout='NHWC')
    odd = rand(1, 3, 2, 2)
    padded = np.concatenate([odd, np.zeros((1, 1, 2, 2), f32)], axis=1).reshape(1, 2, 2, 2, 2).transpose(0, 1, 3, 4, 2)
    case('layout_transform', [odd], padded, src_layout='NCHW', dst_layout='NCHW2c')
    w = rand(4, 1, 3, 3)
    y = np.zeros((1, 4, 3, 3), f32)
    z = rand(1, 4, 5, 5)
    for c, i, j in itertools.product(range(4), range(3), range(3)):
        y[0, c, i, j] = (z[0, c, i:i + 3, j:j + 3].astype(f64) * w[c, 0]).sum()
    blocks = lambda t: t.reshape(1, 2, 2, *t.shape[2:]).transpose(0, 1, 3, 4, 2)
    case('nn.contrib_depthwise_conv2d_NCHWc', [blocks(z), w.reshape(2, 2, 1, 3, 3).transpose(0, 2, 3, 4, 1)[..., None, :]], blocks(y), groups=4,
         data_layout='NCHW2c', kernel_layout='OIHW1i2o', channels=4, kernel_size=[3, 3])
    a, d = rand(3, 4), rand(3)
    want = a.copy()
    want[np.arange(3), np.arange(3) + 1] = d
    case('matrix_set_diag', [a, d], want, k1=1, k2=1)
    b, x = rand(2, 3), rand(2, 2)
    case('nn.fifo_buffer', [x, b], np.concatenate([b[:, 2:], x], axis=1), axis=1)
    case('nn.fifo_buffer', [x.astype(i32), x.astype(i32) + 1], x.astype(i32), axis=0)
    s = np.arange(8, dtype=i32).reshape(1, 2, 4, 1)
    want = np.zeros((4, 1, 2, 1), i32)
    for n, h, w, c in np.ndindex(4, 1, 2, 1):
        want[n, h, w, c] = s[0, h * 2 + n // 2, w * 2 + n % 2, c]
    case('nn.space_to_batch_nd', [s], want, block_shape=[2, 2], paddings=[[0, 0], [0, 0]])
    case('nn.batch_to_space_nd', [want], s[:, :, 1:], block_shape=[2, 2], crops=[[0, 0], [1, 0]])


def signals(case, fails, rand):
    for n in (1, 2, 5, 8, 12, 22, 32, 49, 60, 64):
        re, im = rand(2, n, dtype=f64), rand(2, n, dtype=f64)
        y = np.fft.fft(re + 1j * im)
        case('dft', [re, im], [y.real, y.imag])
        z = np.fft.ifft(re + 1j * im)
        case('dft', [re, im], [z.real, z.imag], inverse=True)
    re = rand(7)
    y = np.fft.fft(re.astype(f64))
    case('dft', [re, re * 0], [y.real.astype(f32), y.imag.astype(f32)])
    case('dft', [np.zeros((2, 0), f32)] * 2, [np.zeros((2, 0), f32)] * 2)
    x, window = rand(2, 16, dtype=f64), rand(6, dtype=f64)
    for one, norm in itertools.product((True, False), repeat=2):
        frames = np.stack([np.fft.fft(x[:, t:t + 6] * window) for t in range(0, 11, 4)], axis=2) * (6 ** -0.5 if norm else 1)
        frames = frames[:, :4] if one else frames
        case('stft', [x, window], np.stack([frames.real, frames.imag], axis=-1), n_fft=6, hop_length=4, win_length=6, normalized=norm, onesided=one)
    short = np.array([0, 1, 2, 3, 0, 0], f64)
    frames = np.stack([np.fft.fft(x[:, t:t + 6] * short)[:, :4] for t in range(0, 11, 5)], axis=2)
    case('stft', [x, np.array([1, 2, 3], f64)], np.stack([frames.real, frames.imag], axis=-1), n_fft=6, hop_length=5, win_length=3)
    fails('stft', [x, window], 'covers 32', n_fft=32, hop_length=4, win_length=6)


def axis_weights(n, m, coordinate, kernel, shrink=1.0, exclude=False, normalize=False):
    """(m, n) matrix of a resize along one axis."""
    out = np.zeros((m, n))
    for o in range(m):
        at = coordinate(o)
        for p in range(-60, n + 60):
            w = kernel((p - at) * shrink)
            if not (exclude and not 0 <= p < n):
                out[o, min(max(p, 0), n - 1)] += w
    return out / out.sum(1, keepdims=True) if exclude or normalize else out


def linear(d):
    return max(1 - abs(d), 0)


def cubic(d, a=-0.75):
    d = abs(d)
    return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1 if d <= 1 else a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a if d < 2 else 0


def resizes(case, fails, rand):
    def resized(x, sizes, scales, kernel, **options):
        y = x.astype(f64)
        for axis, (m, s) in enumerate(zip(sizes, scales)):
            shrink = min(s, 1) if options.get('antialias') else 1.0
            w = axis_weights(x.shape[2 + axis], m, lambda o: (o + 0.5) / s - 0.5, kernel, shrink, options.get('exclude', False), options.get('antialias', False))
            y = np.moveaxis(np.tensordot(w, y, (1, 2 + axis)), 0, 2 + axis)
        return y.astype(x.dtype)
    x = rand(1, 2, 4, 5)
    for op, image, sizes, scales, layout in (('image.resize1d', x[:, :, 0], [3], [0.7], 'NCW'), ('image.resize2d', x, [2, 3], [0.6, 0.7], 'NCHW'),
                                             ('image.resize3d', rand(1, 1, 3, 4, 4), [2, 2, 8], [0.8, 0.55, 2.0], 'NCDHW')):
        case(op, [image], resized(image, sizes, scales, linear), size=sizes, scales=scales, layout=layout)
        case(op, [image], resized(image, sizes, scales, linear, antialias=True), size=sizes, scales=scales, antialias=True, layout=layout)
        case(op, [image], resized(image, sizes, scales, cubic, antialias=True), size=sizes, scales=scales, antialias=True, layout=layout, method='cubic', cubic_alpha=-0.75)
        case(op, [image], resized(image, sizes, scales, cubic, exclude=True), size=sizes, scales=scales, layout=layout, method='cubic', cubic_alpha=-0.75, cubic_exclude=1)
    # (x + 0.5) / 0.6 - 0.5 with the middle of 2 of 2.4 elements in the middle of 4
    w = axis_weights(4, 2, lambda o: 4 / 2 * (1 - 2 / 2.4) + (o + 0.5) / 0.6 - 0.5, linear)
    case('image.resize1d', [x[:, :, :, 0]], (x[:, :, :, 0].astype(f64) @ w.T).astype(f32), size=[2], scales=[0.6], coordinate_transformation_mode='half_pixel_symmetric')
    w = axis_weights(4, 2, lambda o: o * 3 / 1.4, linear)
    case('image.resize1d', [x[:, :, :, 0]], (x[:, :, :, 0].astype(f64) @ w.T).astype(f32), size=[2], scales=[0.6], coordinate_transformation_mode='align_corners')
    bytes_ = rand(1, 1, 4, dtype=u8, low=0, high=200)
    w = axis_weights(4, 7, lambda o: (o + 0.5) * 4 / 7 - 0.5, linear)
    case('image.resize1d', [bytes_], np.floor(bytes_.astype(f64) @ w.T + 0.5).astype(u8), size=[7])
    case('dyn.image.resize2d', [x, np.array([2, 3], i64), np.zeros(0, f32)], resized(x, [2, 3], [0.6, 0.7], linear, antialias=True), scales=[0.6, 0.7], antialias=True)
    fails('image.resize2d', [x], 'scales has 2 values', size=[2, 2], scales=[1.0])
    fails('image.resize2d', [x], 'a scale is positive', size=[2, 2], scales=[1.0, -1.0])
    up = np.repeat(np.repeat(x, 2, axis=2), 3, axis=3)
    case('dyn.nn.upsampling', [x, np.array(2.0, f32), np.array(3.0, f32)], up)
    v = rand(1, 2, 2, 2, 3)
    case('nn.upsampling3d', [v], v.repeat(2, 2).repeat(2, 3).repeat(1, 4), scale_d=2.0, scale_h=2.0, scale_w=1.0, coordinate_transformation_mode='asymmetric')
    y = v.astype(f64)
    for axis, (n, s) in enumerate(((2, 2), (2, 1.5), (3, 2))):
        w = axis_weights(n, round(n * s), lambda o: (o + 0.5) / (round(n * s) / n) - 0.5, linear)
        y = np.moveaxis(np.tensordot(w, y, (1, 2 + axis)), 0, 2 + axis)
    case('nn.upsampling3d', [v], y.astype(f32), scale_d=2.0, scale_h=1.5, scale_w=2.0, method='trilinear')


def grids(case, fails, rand):
    x = rand(2, 3, 4, 5)
    grid = rand(2, 2, 3, 2, low=-1.4, high=1.4)
    methods = {'nearest': None, 'bilinear': linear, 'bicubic': cubic}

    def sample(x, grid, method, padding, aligns):
        spatial = x.ndim - 2
        out = np.zeros(x.shape[:2] + grid.shape[2:])
        for where in np.ndindex(*out.shape):
            n, c, place = where[0], where[1], where[2:]
            weights = []
            for axis in range(spatial):
                g, e = float(grid[(n, spatial - 1 - axis) + place]), x.shape[2 + axis]
                at = (g + 1) * (e - 1) / 2 if aligns else ((g + 1) * e - 1) / 2

                def inside(p):
                    if padding == 'border':
                        return min(max(p, 0), e - 1)
                    if padding == 'reflection':
                        low, high = (0, e - 1) if aligns else (-0.5, e - 0.5)
                        while not low <= p <= high:
                            p = 2 * low - p if p < low else 2 * high - p
                        return min(max(p, 0), e - 1)
                    return p
                row = np.zeros(e)
                if method == 'bicubic':
                    taps = [(inside(np.floor(at) + i), cubic(np.floor(at) + i - at)) for i in range(-1, 3)]
                else:
                    at = inside(at)
                    taps = [(np.rint(at), 1)] if method == 'nearest' else [(np.floor(at) + i, linear(np.floor(at) + i - at)) for i in (0, 1)]
                for p, w in taps:
                    if 0 <= p <= e - 1:
                        row[int(p)] += w
                weights.append(row)
            value = x[n, c].astype(f64)
            for row in reversed(weights):
                value = value @ row
            out[where] = value
        return out.astype(x.dtype)
    for method, padding, aligns in itertools.product(methods, ('zeros', 'border', 'reflection'), (True, False)):
        case('image.grid_sample', [x, grid], sample(x, grid, method, padding, aligns), method=method, padding_mode=padding, align_corners=aligns)
    v, g = rand(1, 2, 3, 4, 2, dtype=f64), rand(1, 3, 2, 2, 2, low=-1.2, high=1.2, dtype=f64)
    for method in methods:
        case('image.grid_sample', [v, g], sample(v, g, method, 'zeros', False), layout='NCDHW', method=method, align_corners=False)
    case('image.grid_sample', [x[:1, :1], np.full((1, 2, 1, 1), np.nan, f32)], np.zeros((1, 1, 1, 1), f32))
    for shape in ((2, 3), (2, 3, 4)):
        d = len(shape)
        theta = rand(2, d, d + 1)
        for aligns in (True, False):
            line = [np.linspace(-1, 1, e) if aligns else (2 * np.arange(e) + 1) / e - 1 for e in shape]
            mesh = np.stack(list(np.meshgrid(*line, indexing='ij'))[::-1] + [np.ones(shape)])
            case('image.affine_grid', [theta], np.einsum('nij,j...->ni...', theta.astype(f64), mesh).astype(f32), target_shape=list(shape), align_corners=aligns)
    image, box = rand(2, 4, 4, 1), np.array([[0.25, 0, 1.2, 0.5]], f32)
    want = np.full((1, 3, 2, 1), 9.0)
    for i, j in np.ndindex(3, 2):
        y, at = 0.75 + i * (float(box[0, 2]) - 0.25) * 3 / 2, j * 1.5
        if y <= 3:
            a, b = int(y), int(at)
            part = image[1, a:a + 2, b:b + 2, 0].astype(f64)
            fy, fx = y - a, at - b
            w = np.outer([1 - fy, fy], [1 - fx, fx])[:part.shape[0], :part.shape[1]]
            want[0, i, j, 0] = (part * w).sum()
    case('image.crop_and_resize', [image, box, np.array([1], i32)], want.astype(f32), crop_size=[3, 2], layout='NHWC', extrapolation_value=9.0)
    fails('image.crop_and_resize', [image, box, np.array([2], i32)], 'box index 2 is out of range', status='ARG', crop_size=[3, 2], layout='NHWC')
    z, w = rand(1, 5, 5, 2), rand(2, 2, 2)
    want = np.full((1, 3, 3, 2), -np.inf)
    for i, j, c, a, b in itertools.product(range(3), range(3), range(2), range(2), range(2)):
        y, q = i * 2 + a - 1, j * 2 + b - 1
        if 0 <= y < 5 and 0 <= q < 5:
            want[0, i, j, c] = max(want[0, i, j, c], float(z[0, y, q, c]) + float(w[a, b, c]))
    case('image.dilation2d', [z, w], want.astype(f32), data_layout='NHWC', kernel_layout='HWI', strides=[2, 2], padding=[1, 1])


def overlap(a, b):
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(wide, 0) * max(high, 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def boxes(case, fails, rand):
    corners = np.sort(rand(2, 6, 2, 2, low=0, high=1), axis=2).reshape(2, 6, 4) + np.array([0, 0, 0.3, 0.3], f32)
    scores = rand(2, 2, 6, low=0, high=1)
    rows = []
    for n, c in np.ndindex(2, 2):
        kept = []
        for b in np.argsort(-scores[n, c], kind='stable'):
            if len(kept) < 3 and scores[n, c, b] > 0.2 and all(overlap(corners[n, b], corners[n, k]) <= 0.3 for k in kept):
                kept.append(b)
        rows += [[n, c, b] for b in kept]
    scalars = [np.array(3, i64), np.array(0.3, f32), np.array(0.2, f32)]
    op = 'vision.all_class_non_max_suppression'
    case(op, [corners, scores] + scalars, [np.array(rows, i64).reshape(-1, 3), np.array([len(rows)], i64)])
    case(op, [corners[..., [2, 3, 0, 1]], scores] + scalars, [np.array(rows, i64).reshape(-1, 3), np.array([len(rows)], i64)])
    case(op, [corners, scores, np.array(0, i64)] + scalars[1:], [np.zeros((0, 3), i64), np.array([0], i64)])
    fails(op, [corners, scores] + scalars, 'only "onnx"', status='UNSUP', output_format='tensorflow')

    data = np.zeros((1, 5, 6), f32)
    data[0, :, 0] = [0, 1, -1, 0, 1]
    data[0, :, 1] = [0.9, 0.3, 0.95, 0.8, 0.05]
    data[0, :, 2:] = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], [0.1, 0, 1, 1], [2, 2, 3, 3]]
    keep = [0, 1, 3]
    counted = np.full((1, 5, 6), -1, f32)
    counted[0, :3] = data[0, keep]
    case('vision.get_valid_counts', [data, np.array(0.1, f32)], [np.array([3], i32), counted, np.array([[0, 1, 3, -1, -1]], i32)])
    inputs = [counted, np.array([3], i32), np.array([[0, 1, 3, -1, -1]], i32), np.array(-1, i32), np.array(0.5, f32)]
    op = 'vision.non_max_suppression'
    case(op, inputs, [np.array([[0, 1, -1, -1, -1]], i32), np.array([[2]], i32)])
    case(op, inputs, [np.array([[0, -1, -1, -1, -1]], i32), np.array([[1]], i32)], force_suppress=True)
    want = np.full((1, 5, 6), -1, f32)
    want[0, 0], want[0, 2] = counted[0, 0], counted[0, 1]  # by score: 0, 2, 1
    case(op, inputs, want, return_indices=False)
    want = np.full((1, 5, 6), -1, f32)
    want[0, :2] = counted[0, :2]
    case(op, inputs, want, return_indices=False, invalid_to_bottom=True)
    case(op, inputs[:3] + [np.array(1, i32), np.array(0.5, f32)], [np.array([[0, -1, -1, -1, -1]], i32), np.array([[1]], i32)])
    fails(op, [counted, np.array([6], i32)] + inputs[2:], 'valid_count is 6', status='ARG')
    fails(op, inputs, 'coord_start is 3', coord_start=3)

    x = np.zeros((1, 1, 2, 3), f32)
    want = []
    for i, j in np.ndindex(2, 3):
        y, q = (i + 0.5) / 2, (j + 0.5) / 3
        for size, ratio in ((0.4, 1), (0.8, 1), (0.4, 2)):
            w, h = size * 2 / 3 * ratio ** 0.5 / 2, size / ratio ** 0.5 / 2
            want.append([q - w, y - h, q + w, y + h])
    case('vision.multibox_prior', [x], np.array([want], f32), sizes=[0.4, 0.8], ratios=[1.0, 2.0])
    case('vision.multibox_prior', [x], np.clip(np.array([want], f32), 0, 1), sizes=[0.4, 0.8], ratios=[1.0, 2.0], clip=True)
    probabilities = np.array([[[0.1, 0.9, 0.2], [0.7, 0.05, 0.3], [0.2, 0.05, 0.5]]], f32)
    shift = rand(1, 12, low=-1, high=1)
    anchors = np.array([[[0.1, 0.1, 0.5, 0.6], [0.2, 0.3, 0.9, 0.9], [0, 0.4, 0.4, 0.8]]], f32)
    want = np.full((1, 3, 6), -1.0)
    for row, (a, c) in enumerate(((0, 1), (2, 2))):
        l, t, r, b = anchors[0, a].astype(f64)
        d = shift[0, 4 * a:4 * a + 4] * np.array([0.1, 0.1, 0.2, 0.2])
        q, y, w, h = d[0] * (r - l) + (l + r) / 2, d[1] * (b - t) + (t + b) / 2, np.exp(d[2]) * (r - l) / 2, np.exp(d[3]) * (b - t) / 2
        want[0, row] = [c - 1, probabilities[0, c, a]] + list(np.clip([q - w, y - h, q + w, y + h], 0, 1))
    case('vision.multibox_transform_loc', [probabilities, shift, anchors], [want.astype(f32), np.array([2], i32)], threshold=0.1)


def deformed(x, offset, w, groups, offset_groups):
    """A deformable convolution with a padding of one below and to the right, as loops."""
    n, c, h, wide = x.shape
    o, per, kh, kw = w.shape
    high, out_wide = offset.shape[2:]
    want = np.zeros((n, o, high, out_wide))
    for b, p, i, j, q, a, e in np.ndindex(n, o, high, out_wide, per, kh, kw):
        channel, k = p // (o // groups) * per + q, a * kw + e
        at = (channel // (c // offset_groups) * kh * kw + k) * 2
        y, v = i + a + float(offset[b, at, i, j]), j + e + float(offset[b, at + 1, i, j])
        if w[p, q, a, e] != 0:
            near = [(r, s) for r in range(h) for s in range(wide) if abs(y - r) < 1 and abs(v - s) < 1]
            want[b, p, i, j] += sum((1 - abs(y - r)) * (1 - abs(v - s)) * float(x[b, channel, r, s]) for r, s in near) * float(w[p, q, a, e])
    return want.astype(f32)


def regions(case, fails, rand):
    x = rand(2, 2, 6, 7)
    rois = np.array([[0, 0.5, 1, 5, 4.2], [1, -1, 2, 3.3, 9]], f32)

    def corners(c, y, q):
        if not (-1 <= y <= 6 and -1 <= q <= 7):
            return [0]
        y, q = min(max(y, 0), 5), min(max(q, 0), 6)
        a, b = int(y), int(q)
        return [float(c[i, j]) * wy * wq for i, wy in ((a, 1 - y + a), (min(a + 1, 5), y - a)) for j, wq in ((b, 1 - q + b), (min(b + 1, 6), q - b))]

    def aligned(samples, mode, shift, scale):
        out = np.zeros((2, 2, 2, 3))
        for r, c, i, j in np.ndindex(*out.shape):
            n, (l, t, w, h) = int(rois[r, 0]), (rois[r, 1:].astype(f64) * scale - shift)
            w, h = w - l, h - t
            if not shift:
                w, h = max(w, 1), max(h, 1)
            down = samples if samples > 0 else int(np.ceil(h / 2))
            across = samples if samples > 0 else int(np.ceil(w / 3))
            points = [corners(x[n, c], t + h / 2 * (i + (a + 0.5) / down), l + w / 3 * (j + (b + 0.5) / across)) for a in range(down) for b in range(across)]
            out[r, c, i, j] = max(max(p) for p in points) if mode == 'max' else sum(sum(p) for p in points) / len(points)
        return out.astype(f32)
    for samples, mode, is_aligned in itertools.product((2, 0), ('avg', 'max'), (False, True)):
        case('vision.roi_align', [x, rois], aligned(samples, mode, 0.5 if is_aligned else 0, 0.75), pooled_size=[2, 3], spatial_scale=0.75, sample_ratio=samples,
             mode=mode, aligned=is_aligned)
    case('vision.roi_align', [x.transpose(0, 2, 3, 1), rois], aligned(2, 'avg', 0, 0.75).transpose(0, 2, 3, 1), pooled_size=[2, 3], spatial_scale=0.75, sample_ratio=2, layout='NHWC')
    fails('vision.roi_align', [x, rois + 1], 'roi 1 is of image 2', status='ARG', pooled_size=[2, 3], spatial_scale=1.0)
    out = np.zeros((2, 2, 2, 2))
    for r, c, i, j in np.ndindex(*out.shape):
        l, t, q, b = np.floor(rois[r, 1:].astype(f64) + 0.5)
        w, h = max(q - l + 1, 1), max(b - t + 1, 1)
        top, bottom = [int(min(max(t + v, 0), 6)) for v in (np.floor(i * h / 2), np.ceil((i + 1) * h / 2))]
        left, right = [int(min(max(l + v, 0), 7)) for v in (np.floor(j * w / 2), np.ceil((j + 1) * w / 2))]
        part = x[int(rois[r, 0]), c, top:bottom, left:right]
        out[r, c, i, j] = part.max() if part.size else 0
    case('vision.roi_pool', [x, rois], out.astype(f32), pooled_size=[2, 2], spatial_scale=1.0)
    y = rand(1, 8, 2, 4, dtype=i32, low=0, high=99)
    flat, want = y.ravel(), np.zeros(64, i32)
    for k, j, i in np.ndindex(8, 2, 4):
        off = k // 2
        want[i + 4 * (j + 2 * k)] = flat[(i * 2 + off % 2) + 8 * ((j * 2 + off // 2) + 4 * (k % 2))]
    case('vision.yolo_reorg', [y], want.reshape(1, 32, 1, 2), stride=2)
    a, b = rand(1, 2, 4, 4), rand(1, 2, 4, 4)
    pa, pb = [np.pad(t.astype(f64), ((0, 0), (0, 0), (2, 2), (2, 2))) for t in (a, b)]
    for product in (True, False):
        want = np.zeros((1, 9, 4, 4))
        for q, i, j in np.ndindex(9, 4, 4):
            dy, dx = (q // 3 - 1) * 2, (q % 3 - 1) * 2
            one, two = pa[0, :, i + 2, j + 2], np.zeros(2)
            if 0 <= i + 2 + dy < 8 and 0 <= j + 2 + dx < 8:
                two = pb[0, :, i + 2 + dy, j + 2 + dx]
            want[0, q, i, j] = (one * two if product else abs(one - two)).sum() / 2
        case('nn.correlation', [a, b], want.astype(f32), kernel_size=1, max_displacement=2, stride1=1, stride2=2, padding=[2], is_multiply=product)
    for size in (16,):
        scores, shift = rand(1, 4, 2, 2, low=0, high=1), rand(1, 8, 2, 2, low=-0.2, high=0.2)
        info, kept, found = np.array([[32, 32, 1]], f32), [], []
        for place, k in np.ndindex(4, 2):
            scale = (0.5, 1)[k]
            cx = cy = 7.5
            l, t, r, bt = cx - 0.5 * (16 * scale - 1), cy - 0.5 * (16 * scale - 1), cx + 0.5 * (16 * scale - 1), cy + 0.5 * (16 * scale - 1)
            dy, dx = place // 2 * 16, place % 2 * 16
            l, t, r, bt = l + dx, t + dy, r + dx, bt + dy
            d = shift[0, 4 * k:4 * k + 4, place // 2, place % 2].astype(f64)
            w, h = r - l + 1, bt - t + 1
            px, py, pw, ph = d[0] * w + l + 0.5 * (w - 1), d[1] * h + t + 0.5 * (h - 1), np.exp(d[2]) * w, np.exp(d[3]) * h
            box = np.clip([px - 0.5 * (pw - 1), py - 0.5 * (ph - 1), px + 0.5 * (pw - 1), py + 0.5 * (ph - 1)], 0, 31)
            found.append((scores[0, 2 + k, place // 2, place % 2], box))
        for s, box in sorted(found, key=lambda f: -f[0]):
            def iou(p, q):
                w, h = max(min(p[2], q[2]) - max(p[0], q[0]) + 1, 0), max(min(p[3], q[3]) - max(p[1], q[1]) + 1, 0)
                area = lambda v: (v[2] - v[0] + 1) * (v[3] - v[1] + 1)
                return w * h / (area(p) + area(q) - w * h)
            if len(kept) < 6 and all(iou(box, other) <= 0.3 for other in kept):
                kept.append(box)
        want = np.array([[0] + list(kept[i % len(kept)]) for i in range(6)], f32)
        case('vision.proposal', [scores, shift, info], want, scales=[0.5, 1.0], ratios=[1.0], feature_stride=size, threshold=0.3, rpn_pre_nms_top_n=100,
             rpn_post_nms_top_n=6, rpn_min_size=1)
    z, w = rand(1, 5, 5, 2), rand(3, 3, 2, 2)
    offset = rand(1, 2, 2, 18, low=-1, high=1)
    want = np.zeros((1, 2, 2, 2))
    for i, j, o, c, a, b in itertools.product(range(2), range(2), range(2), range(2), range(3), range(3)):
        k = (a * 3 + b) * 2
        y, q = i * 2 + a + float(offset[0, i, j, k]), j * 2 + b + float(offset[0, i, j, k + 1])
        value = sum((1 - abs(y - r)) * (1 - abs(q - s)) * float(z[0, r, s, c]) for r in range(5) for s in range(5) if abs(y - r) < 1 and abs(q - s) < 1)
        want[0, i, j, o] += value * float(w[a, b, c, o])
    case('nn.deformable_conv2d', [z, offset, w], want.astype(f32), data_layout='NHWC', kernel_layout='HWIO', strides=[2, 2], kernel_size=[3, 3], channels=2)
    # Groups of channels and of offsets, places outside; weights that pick one tap do not see the others.
    own = np.random.default_rng(5)
    x = np.round(own.uniform(-2, 2, (2, 4, 3, 5)), 2).astype(f32)
    offset = np.round(own.uniform(-2.5, 2.5, (2, 2 * 2 * 4, 3, 5)), 2).astype(f32)
    offset[0, 0, 0, 0] = np.nan
    weights = np.round(own.uniform(-2, 2, (6, 2, 2, 2)), 2).astype(f32)
    case('nn.deformable_conv2d', [x, offset, weights], deformed(x, offset, weights, 2, 2), padding=[0, 0, 1, 1], groups=2, deformable_groups=2, channels=6)
    picks = np.zeros((8, 1, 2, 2), f32)
    for t in range(8):
        picks[t, 0, t % 4 // 2, t % 2] = 1 + t
    x = x[:, :2].copy()
    x[1, 1, 2, 4] = np.inf
    case('nn.deformable_conv2d', [x, offset, picks], deformed(x, offset, picks, 2, 2), padding=[0, 0, 1, 1], groups=2, deformable_groups=2, channels=8)


def sparse(case, fails, rand):
    dense = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 0, 0], [0, 0, 4, 5]], f32)
    data, indices, starts = np.array([2, 1, 3, 4, 5], f32), np.array([1, 3, 0, 2, 3], i32), np.array([0, 2, 2, 3, 5], i32)
    x = rand(3, 4)
    case('nn.sparse_dense', [x, data, indices, starts], x @ dense.T)
    case('nn.sparse_dense', [x, data, indices, starts], dense @ x.T, sparse_lhs=True)
    blocks = rand(2, 2, 2)
    whole = np.zeros((4, 4), f32)
    whole[:2, 2:], whole[2:, :2] = blocks[0], blocks[1]
    case('nn.sparse_dense', [x, blocks, np.array([1, 0], i32), np.array([0, 1, 2], i32)], x @ whole.T)
    square = rand(4, 4)
    case('nn.sparse_add', [square, data, indices, starts], square + dense)
    case('nn.sparse_transpose', [data, indices, starts], [np.array([3, 2, 4, 1, 5], f32), np.array([2, 0, 3, 0, 3], i32), np.array([0, 1, 2, 3, 5], i32)])
    fails('nn.sparse_dense', [x, data, indices + 1, starts], 'column 4 is out of range', status='ARG')
    fails('nn.sparse_add', [square, data, indices, starts + 1], 'indptr holds 6', status='ARG')


def pools(case, rand):
    y = rand(1, 2, 6)
    case('nn.adaptive_avg_pool1d', [y], y.reshape(1, 2, 3, 2).mean(3), output_size=[3])
    z = rand(1, 1, 2, 4, 4)
    case('nn.adaptive_max_pool3d', [z], z.reshape(1, 1, 1, 2, 2, 2, 2, 2).max((3, 5, 7)), output_size=[1, 2, 2])


def padded_products(case, rand):
    """Convolutions of which many steps read nothing but padding."""
    def conv(x, w, pads, dilation, stride):
        h, v = ((n + sum(pads[d::2]) - 2 * dilation - 1) // stride + 1 for d, n in enumerate(x.shape[2:]))
        wide = np.pad(x.astype(f64), [(0, 0), (0, 0), pads[0::2], pads[1::2]])
        y = np.zeros((x.shape[0], w.shape[0], h, v))
        for ky, kx in itertools.product(range(3), range(3)):
            part = wide[:, :, ky * dilation:, kx * dilation:][:, :, ::stride, ::stride][:, :, :h, :v]
            y += np.einsum('nchw,oc->nohw', part, w[:, :, ky, kx].astype(f64))
        return y.astype(f32)

    w = rand(20, 5, 3, 3)
    for size, pads, dilation, stride in (((6, 9), [5, 4, 5, 4], 5, 1), ((7, 7), [2, 2, 2, 2], 2, 1), ((4, 3), [1, 1, 1, 1], 1, 1),
                                         ((5, 6), [7, 0, 1, 8], 3, 2), ((2, 2), [4, 4, 4, 4], 4, 1)):
        x = rand(2, 5, *size)
        y = conv(x, w, pads, dilation, stride)
        attrs = dict(padding=pads, dilation=[dilation, dilation], strides=[stride, stride])
        case('nn.conv2d', [x, w], y, **attrs)
        case('nn.conv2d', [x.transpose(0, 2, 3, 1), w.transpose(0, 2, 3, 1)], y.transpose(0, 2, 3, 1), data_layout='NHWC', kernel_layout='OHWI', **attrs)
