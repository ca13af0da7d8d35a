#!/usr/bin/env bash
# Sets up, builds the programs (not the tests), compiles the example model with oneDNN, runs
# it and shows what was offloaded.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools/dev/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target programs

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
show() { printf '\n$ %s\n' "$*"; "$@"; }

show build/bin/bycc share/models/example.onnx --annotate=dnnl -o "$work/example.o"
show build/bin/bycc share/models/example.onnx --annotate=dnnl --explain -q -o "$work/example.o"
show build/bin/bycc-run "$work/example.json" --inputs share/models/example --print=4
show build/bin/bycc-run "$work/example.json" --random --bench --runs 20
