# Sourced by every test here: a fresh folder, the programs under test on PATH,
# and helpers. To run one by hand: BYCC_BIN=build/bin test/e2e/NAME.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$(cd "${BYCC_BIN:-$root/build/bin}" && pwd)
PATH=$bin:$PATH
export OMP_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

npy() { python3 "$here/npy.py" "$@"; }

# values COUNT SEED: as many numbers of both signs, none above 2.1.
values() { python3 -c "print(*[((i * 31 + $2) % 67 - 33) / 16 for i in range($1)])"; }

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect GOT WANTED
expect() { [ "$1" = "$2" ] || fail "got '$1', expected '$2'"; }

# refuse EXITCODE TEXT COMMAND...: the command fails so and says so.
refuse() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" > refuse.out 2>&1 || got=$?
  [ "$got" = "$code" ] || { cat refuse.out >&2; fail "exit $got instead of $code: $*"; }
  grep -qF -- "$text" refuse.out || { cat refuse.out >&2; fail "no '$text' in the output of: $*"; }
}

# skip REASON: counts as skipped in ctest.
skip() { echo "skipped: $*"; exit 77; }

# The programs are built with sanitizers: `sanitized && skip REASON` where these stand in the way.
sanitized() { grep -q __asan_init "$bin/bycc"; }

# limit_space KIB: of addresses. Sanitizers take terabytes of them, for nothing that counts.
limit_space() { sanitized || ulimit -v "$1"; }
