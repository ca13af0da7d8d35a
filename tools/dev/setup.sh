#!/usr/bin/env bash
# Installs what bycc builds and tests with, on Debian 12. Safe to run again; as
# root or through sudo.
set -euo pipefail

packages=(
  catch2
  clang-19
  clang-format-19
  cmake
  dpkg-dev
  g++
  gcc
  git
  libc6-dev
  libclang-rt-19-dev
  libcli11-dev
  libdnnl-dev
  libminizip-dev
  libonnx-dev
  libonnx-testdata
  libopenblas-pthread-dev
  libprotobuf-dev
  libpthreadpool-dev
  libxnnpack-dev
  libzstd-dev
  llvm-19-dev
  llvm-19-tools
  make
  ninja-build
  nlohmann-json3-dev
  patch
  pkg-config
  protobuf-compiler
  python3
  python3-dev
  python3-numpy
  python3-venv
  zlib1g-dev
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup.sh: not root and no sudo; install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup.sh: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
