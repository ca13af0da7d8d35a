# Golden tests: each .relay file runs its `RUN:` lines. By hand:
#   BYCC_BIN=build/bin lit test/golden        (lit comes with llvm-19-tools)
import os

import lit.formats

config.name = "golden"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".relay", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ.get("BYCC_GOLDEN_OUT", "/tmp/bycc-golden")

folders = [os.environ["BYCC_BIN"], os.environ.get("LLVM_TOOLS", "/usr/lib/llvm-19/bin")]
config.environment["PATH"] = os.pathsep.join([os.path.abspath(f) for f in folders] + ["/usr/bin", "/bin"])
config.environment["OMP_NUM_THREADS"] = "1"
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
