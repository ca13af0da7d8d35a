#!/usr/bin/env python3
"""Runs ONNX's own test cases through bycc and bycc-run: compiled code, not the evaluator.

usage: run.py [--data=DIR] [--bin=DIR] [--annotate=V] [--round-trip] [--only=GLOB] [-j N] [--report=FILE.json]

DIR is laid out as onnx/backend/test/data: KIND/test_NAME/model.onnx and test_data_set_N/{input,output}_M.pb.
Without --data, the folder of Debian's libonnx-testdata is used.

A case passes when every data set agrees to rtol 1e-3, atol 1e-5, as ONNX's runner asks. With --round-trip
the model is printed as Relay text first, and what is compiled is the text. Cases whose values are no tensors of
numbers (strings, sequences, optionals), that train or draw random numbers are out of reach of the tool: they
are counted apart, and must be refused without a crash. expected.json lists what else does not pass, with
the reason. Exit 1 when a case fails that is not listed, a listed one passes, or any step crashes."""

import argparse, concurrent.futures, fnmatch, json, os, pathlib, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnx_wire

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ('node', 'pytorch-converted', 'pytorch-operator', 'simple')
STEP_SECONDS = 60
RANDOM_OPS = {'RandomNormal', 'RandomNormalLike', 'RandomUniform', 'RandomUniformLike', 'Multinomial', 'Bernoulli'}


class Result:
    def __init__(self, status, reason=''):
        self.status, self.reason = status, reason  # pass, fail, refused, crash, outside


def outside(model):
    """Why a case can't be run by design, or ''."""
    for name, kind in model.inputs + model.outputs:
        if kind != 'tensor':
            return '%s is a %s' % (name, kind)
    for domain, op in sorted(model.ops):
        if domain in ('ai.onnx.preview.training', 'ai.onnx.ml'):
            return '%s of %s' % (op, domain)
        if op in RANDOM_OPS:
            return '%s gives random numbers' % op
        if op.startswith(('Sequence', 'Optional', 'String')) or op in ('SplitToSequence', 'ConcatFromSequence'):
            return '%s works on sequences, optionals or strings' % op
    if ('Dropout', 'seed') in model.attributes or any('training_mode' in name for name, _ in model.inputs):
        return 'training mode'
    return ''


class Runner:
    def __init__(self, options):
        self.o = options
        self.expected = json.loads((HERE / 'expected.json').read_text())

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
            return Result('outside', str(what))
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
            failed = self.run_data(model, data, folder)
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

    def run_data(self, model, data, folder):
        """Null when every output of this data set agrees."""
        given, wanted = folder / 'in', folder / 'want'
        for target in (given, wanted):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
        interface = json.loads((folder / 'net.json').read_text())['bycc']
        self.write_tensors(data, 'input', [n for n, _ in model.inputs], interface['inputs'], given)
        self.write_tensors(data, 'output', [n for n, _ in model.outputs], interface['outputs'], wanted)
        return self.step([self.o.bin / 'bycc-run', folder / 'net.json', '--inputs', given, '--expected', wanted,
                          '--rtol', '1e-3', '--atol', '1e-5', '--threads', '1'], folder)

    def write_tensors(self, data, kind, names, interface, target):
        files = {entry['name']: entry['file'] for entry in interface}
        for index, name in enumerate(names):
            source = data / ('%s_%d.pb' % (kind, index))
            if not source.exists():
                continue
            # Printed programs number their outputs.
            file = files.get(name) or (interface[index]['file'] if index < len(interface) else name)
            file = file if file.endswith('.npy') else file + '.npy'
            (target / file).write_bytes(onnx_wire.tensor_to_npy(source.read_bytes(), source.name))

    def cases(self):
        for kind in KINDS:
            for case in sorted((self.o.data / kind).glob('test_*')):
                name = kind + '/' + case.name[len('test_'):]
                if fnmatch.fnmatch(name, self.o.only) or fnmatch.fnmatch(case.name[len('test_'):], self.o.only):
                    if (case / 'model.onnx').exists():
                        yield name, case

    def reason_known(self, name):
        """The reason listed for a case, or None; a reason may hold for one way of running only."""
        for entry in self.expected:
            if fnmatch.fnmatch(name, entry['case']) and entry.get('annotate', self.o.annotate) == self.o.annotate:
                return entry['reason']
        return None

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
        count = lambda status: sum(1 for r in results.values() if r.status == status)
        within = len(results) - count('outside')
        print('%d of %d pass (%d fail, %d refused, %d crash); %d outside (strings, sequences, optionals, training, random); %.0f s'
              % (count('pass'), within, count('fail'), count('refused'), count('crash'), count('outside'), seconds))
        if self.o.report:
            rows = {name: {'status': r.status, 'reason': r.reason} for name, r in results.items()}
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
    parser.add_argument('--only', default='*')
    parser.add_argument('--flag', action='append', default=[], help='one more flag for bycc')
    parser.add_argument('-j', type=int, default=os.cpu_count())
    parser.add_argument('--report', type=pathlib.Path)
    options = parser.parse_args()
    if options.data is None:
        sys.exit('no test data: install libonnx-testdata, or name a folder with --data')
    options.bin = options.bin.resolve()
    sys.exit(Runner(options).main())


main()
