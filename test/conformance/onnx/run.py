#!/usr/bin/env python3
"""Runs ONNX's own test cases through bycc and bycc-run: compiled code, not the evaluator.

usage: run.py [--data=DIR] [--bin=DIR] [--annotate=V] [--round-trip] [--short] [--only=GLOB] [-j N] [--report=FILE.json]

DIR is laid out as onnx/backend/test/data: KIND/test_NAME/model.onnx and test_data_set_N/{input,output}_M.pb.
Without --data, the folder of Debian's libonnx-testdata is used.

A case passes when every data set agrees to rtol 1e-3 (bfloat16: 2^-6), atol 1e-5, as ONNX's runner asks.
With --round-trip the model is printed as Relay text first, and what is compiled is the text. Cases that are
out of reach of the tool (outside.py) are counted apart; they must still end without a crash. expected.json lists what else does
not pass, with the reason. Exit 1 when a case fails that is not listed, a listed one passes, or any step
crashes or does not end; exit 77 when there is no test data."""

import argparse, collections, concurrent.futures, fnmatch, json, os, pathlib, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnx_wire
from outside import outside

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ('node', 'pytorch-converted', 'pytorch-operator', 'simple')
STEP_SECONDS = 60
SKIPPED = 77  # as ctest has it


class Result:
    def __init__(self, status, reason=''):
        self.status, self.reason = status, reason  # pass, fail, refused, crash, outside


class Runner:
    def __init__(self, options):
        self.o = options
        self.expected = json.loads((HERE / 'expected.json').read_text())
        self.short = set((HERE / 'short.txt').read_text().split())

    def step(self, command, folder):
        """Runs a program; returns (Result or None, stderr)."""
        try:
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, timeout=STEP_SECONDS)
        except subprocess.TimeoutExpired:
            return Result('crash', '%s: no end within %d s' % (pathlib.Path(command[0]).name, STEP_SECONDS))
        text = done.stderr.decode(errors='replace')
        if done.returncode < 0 or done.returncode > 4:
            return Result('crash', '%s: exit %d: %s' % (pathlib.Path(command[0]).name, done.returncode, text[-300:]))
        if done.returncode == 0:
            return None
        errors = [line for line in text.splitlines() if 'error' in line or 'differ' in line] or text.splitlines()
        return Result('refused' if done.returncode == 1 else 'fail', (errors or [''])[0][:300])

    def run_case(self, case):
        folder = pathlib.Path(tempfile.mkdtemp(prefix='bycc-onnx-'))
        try:
            return self.run_in(case, folder)
        except onnx_wire.NotATensor as what:
            return Result('outside', 'dtypes: %s' % what)
        finally:
            shutil.rmtree(folder)

    def run_in(self, case, folder):
        model = onnx_wire.Model((case / 'model.onnx').read_bytes())
        why = outside(model)
        source, failed = self.compile(case, folder)
        if failed:
            return Result('outside', why) if why and failed.status != 'crash' else failed
        if why:
            return Result('outside', why)
        for data in sorted(case.glob('test_data_set_*')):
            failed = self.run_data(data, folder)
            if failed:
                return failed
        return Result('pass')

    def compile(self, case, folder):
        source = case / 'model.onnx'
        if self.o.round_trip:
            printed = folder / 'printed.relay'
            failed = self.step([self.o.bin / 'bycc-opt', source, '-o', printed], folder)
            if failed:
                return source, failed
            source = printed
        command = [self.o.bin / 'bycc', source, '-o', folder / 'net.o', '-q', '--threads=1']
        if self.o.annotate:
            command.append('--annotate=' + self.o.annotate)
        return source, self.step(command + self.o.flag, folder)

    def run_data(self, data, folder):
        """None when every output of this data set agrees."""
        given, wanted = folder / 'in', folder / 'want'
        for target in (given, wanted):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
        interface = json.loads((folder / 'net.json').read_text())['bycc']
        self.write_tensors(data, 'input', interface['inputs'], given)
        self.write_tensors(data, 'output', interface['outputs'], wanted)
        # As ONNX's runner: two units in the last place of bfloat16.
        is_rough = all(entry['dtype'] == 'bfloat16' for entry in interface['outputs'])
        return self.step([self.o.bin / 'bycc-run', folder / 'net.json', '--inputs', given, '--expected', wanted,
                          '--rtol', str(2**-6) if is_rough else '1e-3', '--atol', '1e-5', '--threads', '1'], folder)

    def write_tensors(self, data, kind, interface, target):
        """Data sets number tensors in the order of the model, which printed programs keep as well."""
        for index, entry in enumerate(interface):
            source = data / ('%s_%d.pb' % (kind, index))
            if source.exists():
                (target / (entry['file'] + '.npy')).write_bytes(onnx_wire.tensor_to_npy(source.read_bytes(), source.name))

    def cases(self):
        for kind in KINDS:
            for case in sorted((self.o.data / kind).glob('test_*')):
                name = kind + '/' + case.name[len('test_'):]
                if (case / 'model.onnx').exists() and self.is_wanted(name):
                    yield name, case

    def is_wanted(self, name):
        if self.o.short and name not in self.short:
            return False
        return any(fnmatch.fnmatch(text, self.o.only) for text in (name, name.partition('/')[2]))

    def reason_known(self, name):
        """The reason listed for a case, or None; a reason may hold for one way of running or old cases only."""
        for entry in self.expected:
            if not fnmatch.fnmatch(name, entry['case']) or entry.get('annotate', self.o.annotate) != self.o.annotate:
                continue
            if 'newest_opset' not in entry or self.opset_of(name) <= entry['newest_opset']:
                return entry['reason']
        return None

    def opset_of(self, name):
        kind, _, case = name.partition('/')
        return onnx_wire.Model((self.o.data / kind / ('test_' + case) / 'model.onnx').read_bytes()).opset

    def main(self):
        start, results = time.time(), {}
        cases = list(self.cases())
        if not cases:
            sys.exit('no cases under %s' % self.o.data)
        with concurrent.futures.ThreadPoolExecutor(self.o.j) as pool:
            for (name, _), result in zip(cases, pool.map(lambda c: self.run_case(c[1]), cases)):
                results[name] = result
        return self.report(results, time.time() - start)

    def report(self, results, seconds):
        bad = 0
        for name, result in results.items():
            known = self.reason_known(name)
            if result.status == 'crash' or (result.status in ('fail', 'refused') and known is None):
                print('%-8s %s: %s' % (result.status, name, result.reason))
                bad += 1
            elif result.status in ('fail', 'refused'):
                print('listed   %s: %s' % (name, known))
            elif result.status == 'pass' and known is not None:
                print('passes, but is listed: %s' % name)
                bad += 1
        count = collections.Counter(r.status for r in results.values())
        print('%d of %d pass (%d fail, %d refused, %d crash); %.0f s'
              % (count['pass'], len(results) - count['outside'], count['fail'], count['refused'], count['crash'], seconds))
        kinds = collections.Counter(r.reason.partition(':')[0] for r in results.values() if r.status == 'outside')
        if kinds:
            print('%d outside: %s' % (count['outside'], ', '.join('%d %s' % (n, kind) for kind, n in sorted(kinds.items()))))
        if self.o.report:
            rows = {name: {'status': r.status, 'reason': r.reason} for name, r in sorted(results.items())}
            self.o.report.write_text(json.dumps(rows, indent=1))
        return 1 if bad else 0


def default_data():
    for folder in ('/usr/include/onnx/backend/test/data', '/usr/lib/python3/dist-packages/onnx/backend/test/data'):
        if os.path.isdir(folder + '/node'):
            return pathlib.Path(folder)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', type=pathlib.Path, default=default_data())
    parser.add_argument('--bin', type=pathlib.Path, default=HERE.parents[2] / 'build' / 'bin')
    parser.add_argument('--annotate', default='')
    parser.add_argument('--round-trip', action='store_true')
    parser.add_argument('--short', action='store_true', help='the cases of short.txt only')
    parser.add_argument('--only', default='*')
    parser.add_argument('--flag', action='append', default=[], help='one more flag for bycc')
    parser.add_argument('-j', type=int, default=os.cpu_count())
    parser.add_argument('--report', type=pathlib.Path)
    options = parser.parse_args()
    if options.data is None:
        print('skipped: no test data; install libonnx-testdata, or name a folder with --data')
        sys.exit(SKIPPED)
    options.bin = options.bin.resolve()
    sys.exit(Runner(options).main())


main()
