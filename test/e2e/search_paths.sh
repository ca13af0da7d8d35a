#!/usr/bin/env bash
# No program or library looks for others in the current folder or one relative to it, as
# built and as installed: a libdnnl.so.2 beside a downloaded model is not loaded.
. "$(dirname "$0")/lib.sh"
build=${BYCC_BUILD:-$(dirname "$bin")}

# check FOLDER...: every ELF file below
check() {
  local seen=0 file paths path
  while IFS= read -r -d '' file; do
    [ "$(head -c4 "$file" | tr -d '\0')" = $'\x7fELF' ] || continue
    seen=$((seen + 1))
    paths=$(readelf -dW "$file" 2> /dev/null | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/:\2:/p')
    [[ $paths != *::* ]] || fail "$file has an empty entry: $paths"
    while IFS= read -r path; do
      [[ -z $path || $path = /* || $path = '$ORIGIN' || $path = '$ORIGIN/'* ]] || fail "$file looks in $path"
    done <<< "${paths//:/$'\n'}"
  done < <(find "$@" -type f -size +3 \( -perm -u+x -o -name '*.so*' \) -print0)
  [ $seen -gt 5 ] || fail "$seen files below $*"
}

check "$build/bin" "$build/lib" $([ ! -d "$build/test" ] || echo "$build/test")

echo 'void nothing(void) {}' > other.c
cc -shared -fPIC other.c -Wl,-soname,libdnnl.so.2 -o libdnnl.so.2
cp libdnnl.so.2 libLLVM.so.19.1
for program in bycc bycc-opt bycc-run bycc-vendor-test; do
  "$program" --version > /dev/null || fail "$program loads a library of the current folder"
done

. "$here/install.sh"
check "$PREFIX"
