#!/usr/bin/env bash
# Installs the Python package into a virtual environment of the build folder, from the build
# itself, and runs its tests.   run.sh BUILD [pytest arguments]
# Exits with 77, a skip, where there is no venv module, no Python header, or packages cannot
# be had. Tests of torch run where it is: BYCC_TEST_SITE_PACKAGES names a folder of packages
# to use as well.
set -euo pipefail
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
repository=$here/../..
skip() { echo "skipped: $*"; exit 77; }

export PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
venv=$build/python/venv
python=$venv/bin/python
config='import sysconfig, pathlib; print(pathlib.Path(sysconfig.get_paths()["include"], "Python.h"))'
header=$(python3 -c "$config") || skip "there is no python3"
[ -f "$header" ] || skip "there is no $header: apt-get install python3-dev"
if [ ! -f "$venv/ready" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv" || skip "python3 -m venv does not work: apt-get install python3-venv"
  "$python" -m pip install -q 'scikit-build-core>=0.10' 'nanobind>=3.1,<4' numpy ml_dtypes onnx pytest ||
    skip "packages cannot be installed"
  touch "$venv/ready"
fi
site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
rm -f "$site/bycc-test.pth"
if [ -n "${BYCC_TEST_SITE_PACKAGES:-}" ]; then
  echo "$BYCC_TEST_SITE_PACKAGES" > "$site/bycc-test.pth"
fi
"$python" -m pip install -q --no-deps --no-build-isolation "$repository/tools/python" \
  --config-settings=build-dir="$build/python/package" --config-settings=cmake.define.BYCC_ROOT="$build"
exec "$python" -m pytest -q -p no:cacheprovider "$here" "$@"
