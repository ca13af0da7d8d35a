#!/usr/bin/env python3
"""Compares dnnl with host code on random small programs.

usage: fuzz.py [--bin=DIR] [--seeds=FIRST:END] [--seconds=S] [--kind=KIND] [--keep=DIR] [-j N] [-v]

Each seed makes one program (README.md says out of what), compiles it for the host at -O0 and with
--annotate=dnnl in several ways, and runs all on the same inputs. It fails when a program crashes or does not
end, when dnnl refuses at run time what was compiled, when a node stays on the host without a reason, or
when results differ by more than the kind allows. Exit 1 when a seed fails; exit 77 without NumPy or dnnl."""

import argparse, concurrent.futures, json, os, pathlib, shutil, subprocess, sys, tempfile, time

try:
    import numpy as np
except ImportError:
    print('skipped: no NumPy')
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real_steps
import quantised
from programs import Program, RUN_TIME

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
STEP_SECONDS = 120
KINDS = ('float32', 'bfloat16', 'precision', 'int8', 'run-time', 'empty')


class Failure(Exception):
    pass


# --- programs

def random_float(p, kind):
    rank = p.pick([2, 3, 3, 4, 4, 4, 4, 5])
    if rank >= 3 and p.chance(0.8):
        shape = real_steps.image(p, rank - 2)
    else:
        shape = [p.pick([1, 2, 3, 5, 8, 16, 17]) for _ in range(rank)]
    if kind == 'run-time':
        p.batch = shape[0] = 7919  # of no other extent
    if kind == 'empty':
        shape[p.between(0, rank - 1)] = 0
    x = p.input(shape)
    if p.chance(0.3) and kind != 'run-time':
        p.input(shape)
    if kind == 'bfloat16':
        x = real_steps.cast_through(p, x)
    for _ in range(p.between(2, 7)):
        x = random_step(p, x, kind)
        if p.chance(0.25):
            x = p.pick(p.values)
    if p.values[-1].dtype == 'bfloat16' and p.chance(0.5):
        real_steps.cast_through(p, p.values[-1])
    if len(p.values) == len(p.inputs):
        p.emit('nn.relu(%s)' % x.name, x.shape, x.dtype)


def random_step(p, x, kind):
    r = real_steps
    rank = len(x.shape)
    steps = [r.activation, r.binary, r.softmax, r.layer_norm, r.reduction, r.transpose, r.reshape, r.concat,
             r.split, r.part]
    if rank in (3, 4, 5) and not (p.batch is not None and x.shape[0] != p.batch):
        steps += [r.conv] * 8 + [r.deconv] * 3 + [r.pool] * 3
    if rank >= 2:
        steps += [r.dense] * 3 + ([r.matmul] * 4 if p.batch is None else [])
    if kind == 'bfloat16':
        steps += [r.cast_through] * 3
    if rank < 2:
        steps = [r.activation, r.binary, r.softmax]
    if np.prod(x.shape, dtype=float) > 3e5 and p.batch is None:
        steps = [r.reduction, r.pool] if rank in (3, 4, 5) else [r.reduction]
    return p.pick(steps)(p, x)


def random_quantised(p):
    shape = real_steps.image(p, 2) if p.chance(0.8) else [p.between(1, 5), p.pick([1, 3, 8, 16, 17])]
    x = quantised.start(p, shape)
    for _ in range(p.between(1, 6)):
        q = quantised
        steps = [q.binary, q.change, q.function, q.real_add, q.clipped]
        steps += [q.conv] * 8 + [q.real_conv] * 4 + [q.pool] * 2 + [q.concat] if len(x.shape) == 4 else [q.dense] * 4
        x = p.pick(steps)(p, x)
        if x.dtype == 'float32' or x.bound > 12:
            break
    if x.dtype != 'float32' and p.chance(0.4):
        quantised.dequantize(p, x)
    if len(p.values) == len(p.inputs):
        quantised.change(p, x)


def make(seed, kind):
    p = Program(np.random.default_rng([seed, KINDS.index(kind)]))
    if kind == 'int8':
        random_quantised(p)
    else:
        random_float(p, kind)
    return p


# --- running

class Case:
    def __init__(self, options, folder, seed, kind):
        self.o, self.folder, self.kind = options, folder, kind
        self.p = make(seed, kind)
        self.rng = np.random.default_rng([seed, 99])
        self.out = self.p.outputs()
        self.write_program()

    def write_program(self):
        (self.folder / 'net.relay').write_text(self.p.text(self.out))
        (self.folder / 'params').mkdir()
        for name, array in self.p.constants.items():
            np.save(self.folder / 'params' / (name + '.npy'), array)

    def step(self, command, environment=None):
        """Runs one program; its exit code and messages. Whatever is neither done nor refused fails."""
        try:
            done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=STEP_SECONDS,
                                  env=dict(os.environ, **(environment or {})))
        except subprocess.TimeoutExpired:
            raise Failure('no end within %d s: %s' % (STEP_SECONDS, ' '.join(map(str, command))))
        text = done.stdout.decode(errors='replace')
        if done.returncode not in (0, 1):
            raise Failure('exit %d: %s\n%s' % (done.returncode, ' '.join(map(str, command)), text[-600:]))
        return done.returncode, text

    def compile(self, stem, flags):
        code, text = self.step([self.o.bin / 'bycc', 'net.relay', '--params=params', '-q', '-o', stem + '.o'] + flags)
        if code and 'internal' in text:
            raise Failure('%s: %s' % (' '.join(flags), text[-600:]))
        return code, text

    def write_inputs(self, batch):
        folder = self.folder / 'in'
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for value in self.p.inputs:
            shape = [batch if d == self.p.batch else d for d in value.shape] if self.p.batch else value.shape
            if value.dtype == 'float32':
                array = (value.size * self.rng.standard_normal(shape)).astype(np.float32)
            else:
                info = np.iinfo(value.dtype)
                array = self.rng.integers(info.min, info.max + 1, shape).astype(value.dtype)
            np.save(folder / (value.name[1:] + '.npy'), array)

    def run(self, stem, threads, environment=None):
        code, text = self.step([self.o.bin / 'bycc-run', stem + '.json', '--inputs=in', '--outputs=out-' + stem,
                                '--threads=%d' % threads, '-q'], environment)
        if code and environment and 'limited to' in text:
            return None  # bfloat16 and int8 need more than that
        if code:
            raise Failure('%s is refused at run time: %s' % (stem, text[-600:]))
        return [np.load(self.folder / ('out-' + stem) / ('output_%d.npy' % i)) for i in range(len(self.out))]

    # What may differ, and by how much.
    def compare(self, want, got, how):
        for i, (value, a, b) in enumerate(zip(self.out, want, got)):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise Failure('%s: output %d is %s %s, wanted %s %s' % (how, i, b.dtype, b.shape, a.dtype, a.shape))
            if a.size == 0:
                continue
            a, b = as_real(value, a), as_real(value, b)
            allowed = self.allowed(value, a)
            with np.errstate(invalid='ignore'):
                off = np.abs(a - b)
            off[(a == b) | ~np.isfinite(a)] = 0  # oneDNN drops NaN in places, see vendor/gaps/dnnl.json
            worst = np.unravel_index(np.argmax(np.where(np.isnan(off), np.inf, off - allowed)), off.shape)
            allowed = np.broadcast_to(allowed, off.shape)
            if not off[worst] <= allowed[worst]:
                raise Failure('%s: output %d (%s) at %s is %r, wanted %r +- %.3g' % (
                    how, i, value.name, list(map(int, worst)), b[worst], a[worst], allowed[worst]))

    def allowed(self, value, a):
        size = np.abs(a)
        size[~np.isfinite(size)] = 0
        largest = float(size.max())
        if self.kind in ('bfloat16', 'precision'):
            return 2.0 ** -4 * (size + largest) + 1e-3  # roundings to 8 bits, in another order
        if self.kind == 'int8' and value.dtype != 'float32':
            return np.floor(value.bound + 1e-3)
        return 1e-4 * size + 2e-5 * largest + 4e-6 + (value.bound * 1.001 if self.kind == 'int8' else 0)


def as_real(value, array):
    if value.dtype == 'bfloat16':
        return (array.astype(np.uint32) << 16).view(np.float32).astype(float)
    return array.astype(float)


def check_reasons(folder):
    """Whatever stays on the host says why."""
    for node in json.loads((folder / 'dump.json').read_text())['nodes']:
        if node['placed'] == 'host' and not (node['refused'] or node['why'] or node['candidates']):
            raise Failure('%s (%s) is on the host without a reason' % (node['name'], node['op']))


def ways(options, kind, rng):
    """(stem, flags of the compiler, threads of the run, environment) to compare with the host."""
    extra = ['--precision=bf16'] if kind == 'precision' else []
    every = [('o3', ['-O3', '--annotate=dnnl', '--cost-model=none'], 1, None),
             ('o2', ['-O2', '--annotate=dnnl', '--threads=2'], 2, None),
             ('o0', ['-O0', '--annotate=dnnl'], 2, None),
             ('h3', ['-O3'], 2, None),
             ('v3', ['-O3', '--annotate=dnnl', '--cost-model=none', '-mcpu=x86-64-v3'], 1, None),
             ('sky', ['-O3', '--annotate=dnnl', '--cost-model=none', '-mcpu=skylake-avx512'], 3, None)]
    if options.short:
        every = every[:1]
    elif kind in ('precision', 'bfloat16'):
        every = [w for w in every if w[0] != 'v3'] if kind == 'precision' else every
    return [(s, f + extra, t, e) for s, f, t, e in every]


def check(options, seed, kind, folder):
    case = Case(options, folder, seed, kind)
    extra = ['--precision=bf16'] if kind == 'precision' else []
    code, text = case.compile('host', ['-O0' if not extra else '-O2'] + extra)
    if code:
        return 'refused: ' + text.strip().splitlines()[0][:200] if text.strip() else 'refused'
    compiled = []
    for stem, flags, threads, environment in ways(options, kind, case.rng):
        code, text = case.compile(stem, flags + ['--dump-offloads=dump.json'])
        if code:
            raise Failure('%s: compiles for the host only: %s' % (' '.join(flags), text[-600:]))
        if any('annotate' in f for f in flags):
            check_reasons(folder)
        compiled.append((stem, ' '.join(flags), threads, environment))
        if stem in ('o3', 'sky') and not options.short:
            for isa in ('AVX2', 'AVX512_CORE'):
                compiled.append((stem, flags[0] + ' ' + stem + ' at ' + isa, 2 if stem == 'o3' else 1,
                                 {'ONEDNN_MAX_CPU_ISA': isa}))
    for batch in ([3, 1, 0, 4] if case.p.batch else [None]):
        case.write_inputs(batch)
        want = case.run('host', 1)
        for stem, how, threads, environment in compiled:
            got = case.run(stem, threads, environment)
            if got is not None:
                case.compare(want, got, how + (' batch %d' % batch if batch is not None else ''))
    return None


def one(options, seed, kind):
    folder = pathlib.Path(tempfile.mkdtemp(prefix='bycc-dnnl-'))
    try:
        return seed, kind, 'pass', check(options, seed, kind, folder)
    except Failure as what:
        if options.keep:
            shutil.copytree(folder, pathlib.Path(options.keep) / ('%s-%d' % (kind, seed)), dirs_exist_ok=True)
        return seed, kind, 'FAIL', str(what)
    finally:
        shutil.rmtree(folder)


def options():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--bin', default=str(HERE.parents[2] / 'build' / 'bin'))
    parser.add_argument('--seeds', default='0:100')
    parser.add_argument('--seconds', type=float, default=1e9)
    parser.add_argument('--kind', action='append', choices=KINDS)
    parser.add_argument('--short', action='store_true')
    parser.add_argument('--keep')
    parser.add_argument('-j', type=int, default=2)
    parser.add_argument('-v', action='store_true')
    out = parser.parse_args()
    out.bin = pathlib.Path(out.bin).resolve()
    return out


def main():
    o = options()
    vendors = subprocess.run([o.bin / 'bycc', '--list-vendors'], stdout=subprocess.PIPE).stdout
    if not any(line.startswith(b'dnnl ') for line in vendors.splitlines()):
        print('skipped: dnnl is not built in')
        return SKIPPED
    first, end = map(int, o.seeds.split(':'))
    started, failed, refused, passed = time.monotonic(), 0, 0, 0
    def guarded(job):
        return one(o, *job) if time.monotonic() - started < o.seconds else None
    jobs = [(seed, kind) for seed in range(first, end) for kind in (o.kind or KINDS)]
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        for result in pool.map(guarded, jobs):
            if result is None:
                break
            seed, kind, verdict, text = result
            failed += verdict == 'FAIL'
            refused += verdict == 'pass' and text is not None
            passed += verdict == 'pass' and text is None
            if verdict == 'FAIL' or (o.v and text):
                print('%s --seeds=%d:%d --kind=%s: %s' % (verdict, seed, seed + 1, kind, text), flush=True)
    print('%d passed, %d failed, %d are no programs' % (passed, failed, refused))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
