#!/usr/bin/env bash
# J5 bycc-run's threads: all are the pool's, with oneDNN on them; in a program that has
# OpenMP all are OpenMP's. Results are the same bits. OMP_NUM_THREADS does not matter, the
# CPUs allowed do.
. "$(dirname "$0")/lib.sh"
sanitized && skip "sanitizers want to be loaded first"
bycc --list-vendors | grep -q "^dnnl .*built in" || skip "no dnnl"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 16, 48, 48), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=16);
  sin(%0)
}
END
mkdir params
npy write params/w.npy f4 16x16x3x3 $(seq 2304 | awk '{ print $1 % 17 / 8 - 1 }')
bycc net.relay --params=params --annotate=dnnl -q -o net.o
bycc-run --help | grep -q OMP_ && fail "bycc-run speaks of OpenMP"
ldd "$bin/bycc-run" | grep -q libgomp && fail "the runtime is linked with libgomp"

# names NUMBER PROGRAM...: of the threads of a process that runs the model, which should be so many.
names() {
  local number=$1
  shift
  "$@" --random --bench --seconds 2 > /dev/null &
  for _ in $(seq 100); do
    sleep 0.05
    [ "$(ls /proc/$!/task 2> /dev/null | wc -l)" -ge "$number" ] && break
  done
  sleep 0.3
  cat /proc/$!/task/*/comm | sort | uniq -c | awk '{ printf "%s %s;", $1, $2 }'
  wait $!
}
# The library is served by whom it finds: libgomp's threads have the program's name.
expect "$(names 3 bycc-run net.json --threads 3)" "1 bycc-1;1 bycc-2;1 bycc-run;"
expect "$(LD_PRELOAD=libgomp.so.1 names 3 bycc-run net.json --threads 3)" "3 bycc-run;"
expect "$(names 1 bycc-run net.json --threads 1)" "1 bycc-run;"

for threads in 1 2 3; do
  bycc-run net.json --random --threads $threads --outputs own
  LD_PRELOAD=libgomp.so.1 bycc-run net.json --random --threads $threads --outputs omp
  diff -r own omp || fail "$threads threads: other bits on OpenMP"
done
for number in 0 -1 1 1000000; do
  OMP_NUM_THREADS=$number timeout 60 bycc-run net.json --random --outputs odd 2> /dev/null
  diff -r own odd || fail "OMP_NUM_THREADS=$number: other bits"
done

used() { "$@" --random --bench --runs 3 --json - | sed -n 's/.*"threads": *\([0-9]*\).*/\1/p'; }
expect "$(used taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" bycc-run net.json)" 1
[ "$(used bycc-run net.json)" -le "$(env -u OMP_NUM_THREADS nproc)" ] || fail "more threads than CPUs"

# A program that loads the library by hand, runs on two threads at once and in a child, and
# unloads it.
cat > unload.py <<'END'
import ctypes, os, signal, sys, threading, time, _ctypes
library = ctypes.CDLL(sys.argv[1])
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("threads", ctypes.c_int32), ("verify", ctypes.c_int32),
                ("params", ctypes.c_char_p)]
options = Options(ctypes.sizeof(Options), 2, 0, None)
model = ctypes.c_void_p()
assert library.bycc_model_load(b"net.json", ctypes.byref(options), ctypes.byref(model)) == 0
data = (ctypes.c_float * (2 * 16 * 48 * 48))(1.5)
def run():
    context = ctypes.c_void_p()
    assert library.bycc_context_create(model, ctypes.byref(context)) == 0
    assert library.bycc_bind_input(context, 0, data, ctypes.c_size_t(ctypes.sizeof(data)), None) == 0
    for _ in range(20):
        assert library.bycc_run(context) == 0
    library.bycc_context_destroy(context)
both = [threading.Thread(target=run) for _ in range(2)]
for thread in both: thread.start()
for thread in both: thread.join()
run()
child = os.fork()
if child == 0: # which has none of the threads
    signal.alarm(20)
    run()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
library.bycc_model_destroy(model)
names = sorted(open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task"))
_ctypes.dlclose(library._handle)
used = time.process_time()
time.sleep(0.3)
assert time.process_time() - used < 0.02
print({name for name in names if name.startswith("bycc")}, len(names) <= 3)
END
expect "$(BYCC_PLUGIN_PATH=$(dirname "$bin")/lib/bycc python3 unload.py "$(dirname "$bin")/lib/libbycc_runtime.so")" "{'bycc-1'} True"
