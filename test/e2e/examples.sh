#!/usr/bin/env bash
# The shipped examples build against the headers and libraries, and run.
. "$(dirname "$0")/lib.sh"
lib=$bin/../lib

bycc "$root/share/models/example.onnx" -O2 --annotate=dnnl -q -o example.o
cc -Wall -Werror -I"$root/include" -I. "$root/share/examples/c/run_linked.c" example.o \
  -L"$lib" -lbycc_runtime -lm -o run_linked
LD_LIBRARY_PATH=$lib ./run_linked example.params > linked.txt
grep -q '^largest of' linked.txt || fail "$(cat linked.txt)"

cc -std=c11 -Wall -Wextra -pedantic -Werror -I"$root/include" "$root/share/examples/c/compile_and_run.c" \
  -L"$lib" -lbycc -lbycc_runtime -o compile_and_run
LD_LIBRARY_PATH=$lib ./compile_and_run "$root/share/models/example.onnx" --annotate dnnl -O2 > compiled.txt
grep -q dnnl compiled.txt && grep -q "^output '.*': [0-9]* bytes" compiled.txt || fail "$(cat compiled.txt)"
LD_LIBRARY_PATH=$lib refuse 1 "did you mean '--annotate'?" ./compile_and_run "$root/share/models/example.onnx" anotate=dnnl

c++ -std=c++20 -I"$root/include" "$root/share/examples/pass/drop_clips.cpp" -L"$lib" -lbycc -o drop_clips
cat > clips.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  %0 = clip(%x, a_min=-1e300f, a_max=1e300f);
  clip(%0, a_min=0f, a_max=6f)
}
END
LD_LIBRARY_PATH=$lib ./drop_clips clips.relay > clips.txt
expect "$(grep -c 'clip(' clips.txt)" 1

c++ -std=c++20 -I"$root/include" "$root/share/examples/library/own_parts.cpp" -L"$lib" -lbycc -o own_parts
LD_LIBRARY_PATH=$lib ./own_parts > own_parts.txt 2> own_parts.err
expect "$(cat own_parts.err)" ""
grep -q '^3 ops: 2 in 1 region of tiny, 1 on the host' own_parts.txt || fail "$(cat own_parts.txt)"
grep -q 'nn.relu  net_tiny_0  tiny.abs_relu' own_parts.txt || fail "$(cat own_parts.txt)"
