#!/usr/bin/env bash
# bycc-run --batch: a result for each file; processes share the work, die, and go on.
. "$(dirname "$0")/lib.sh"
python=${BYCC_PYTHON:-python3} # with NumPy

cat >net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 64), float32], %w: Tensor[(64, 64), float32]) {
  %0 = nn.relu(nn.dense(%x, %w, units=64));
  (%0, sum(%0, axis=[1]))
}
EOF
bycc net.relay -q -o net.o
"$python" - <<'EOF'
import numpy as np, os
os.makedirs('in')
numbers = np.random.RandomState(1)
w = numbers.rand(64, 64).astype(np.float32)
np.save('w.npy', w)
for i in range(60):
    x = numbers.rand(1 + i % 3 * 300, 64).astype(np.float32)
    save = np.savez_compressed if i % 2 else np.savez
    save(f'in/{i:02}.npz', x=x, w=w, more=np.arange(3))
EOF

# One after the other: results are those of single runs.
bycc-run net.json --batch in --outputs out --threads 1 2>said.txt
grep -qx "60 results" said.txt || fail "$(cat said.txt)"
"$python" - <<'EOF'
import numpy as np
for i in range(60):
    have, given = np.load(f'out/{i:02}.npz'), np.load(f'in/{i:02}.npz')
    want = np.maximum(given['x'] @ given['w'].T, 0)
    assert sorted(have.files) == ['output_0', 'output_1'], have.files
    np.testing.assert_allclose(have['output_0'], want, rtol=1e-4)
    np.testing.assert_allclose(have['output_1'], want.sum(axis=1), rtol=1e-4)
EOF
bycc-run net.json --batch in --outputs out --threads 1 2>said.txt
grep -qx "0 results, 60 there before" said.txt || fail "$(cat said.txt)"

# Killed 50 times, alone and with another one beside it: nothing is lost, half written or
# made twice, and all is as it was when nobody died.
state() { (cd parts && stat -c '%n %i %Y' *.npz 2>/dev/null | sort) || true; }
mkdir parts
state >before.txt
for i in $(seq 50); do
  setsid bycc-run net.json --batch in --outputs parts --threads 1 2>/dev/null &
  first=$!
  if [ $((i % 3)) = 0 ]; then bycc-run net.json --batch in --outputs parts --threads 1 2>/dev/null & fi
  sleep "0.0$((RANDOM % 40 + 10))"
  kill -KILL $first 2>/dev/null || true
  if [ $((i % 3)) = 0 ]; then kill -KILL $! 2>/dev/null || true; fi
  wait
  state >now.txt
  comm -23 before.txt now.txt | grep . && { echo "a result was made again or lost"; exit 1; }
  mv now.txt before.txt
  if [ "$(ls parts | wc -l)" = 60 ]; then rm -rf parts/* && : >before.txt; fi
done 2>/dev/null
bycc-run net.json --batch in --outputs parts --threads 1 2>/dev/null &
bycc-run net.json --batch in --outputs parts --threads 1 2>/dev/null
wait $!
diff -r out parts || fail "other results after a kill"
# What a process left that died right beside a result.
done=$(ls parts | head -1)
: > "parts/.$done.part"
bycc-run net.json --batch in --outputs parts --threads 1 2>/dev/null
[ ! -e "parts/.$done.part" ] || fail "half a file stays beside its result"

# Files that cannot be used are told apart from the rest.
mkdir odd
cp in/00.npz w.npy odd
echo hello >odd/bad.npz
head -c 500 in/01.npz >odd/cut.npz
"$python" -c "import numpy as np; np.savez('odd/lacks.npz', x=np.zeros((2, 64), np.float32)); np.savez('odd/shape.npz', x=np.zeros((2, 5), np.float32), w=np.load('w.npy'))"
if bycc-run net.json --batch odd --outputs odd-out --threads 1 2>said.txt; then fail "bad files, exit 0"; fi
grep -q "odd/bad.npz: error\[INPUT\]: is no ZIP archive" said.txt || fail "$(cat said.txt)"
grep -q "odd/cut.npz: error\[INPUT\]" said.txt || fail "$(cat said.txt)"
grep -q "odd/lacks.npz: error\[ARG\]: lacks 'w'" said.txt || fail "$(cat said.txt)"
grep -q "odd/shape.npz: error\[ARG\]: input 'x'" said.txt || fail "$(cat said.txt)"
grep -q "odd/w.npy: error\[ARG\]: holds one tensor" said.txt || fail "$(cat said.txt)"
grep -qx "1 result, 5 files without one" said.txt || fail "$(cat said.txt)"
[ "$(ls -A odd-out)" = 00.npz ] || fail "$(ls -A odd-out)"

# What --input names is the same for all; one output is a .npy.
cat >one.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 64), float32], %w: Tensor[(64, 64), float32]) { nn.dense(%x, %w, units=64) }
EOF
bycc one.relay -q -o one.o
mkdir rows
"$python" -c "import numpy as np; np.save('rows/a.npy', np.ones((2, 64), np.float32))"
bycc-run one.json --batch rows --outputs rows-out --input w=w.npy --threads 1 -q
"$python" -c "import numpy as np; np.testing.assert_allclose(np.load('rows-out/a.npy'), np.load('w.npy').sum(axis=1)[None].repeat(2, 0), rtol=1e-4)"

refuse 2 "needs --outputs" bycc-run one.json --batch rows
refuse 2 "are one folder" bycc-run one.json --batch rows --outputs rows
refuse 2 "does not go with --bench" bycc-run one.json --batch rows --outputs x --bench
refuse 1 "nowhere: error[IO]" bycc-run one.json --batch nowhere --outputs x
[ ! -e x ] || fail "a folder was made for nothing"
