#!/usr/bin/env bash
# The Debian packages hold everything once, and say what they need: unpacked into a scratch root
# they compile a model and run it, and a C program is built against them.
. "$(dirname "$0")/lib.sh"
[ -n "${BYCC_BUILD:-}" ] || skip "BYCC_BUILD does not say which build to package"
[ -x /usr/bin/dpkg-deb ] && [ -x /usr/bin/dpkg-shlibdeps ] || skip "no dpkg-dev"
sanitized && skip "sanitizers' libraries are in no package"
cpack --config "$BYCC_BUILD/CPackConfig.cmake" -B packages -D CPACK_THREADS=1 -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip > cpack.txt 2>&1 || fail "$(tail -5 cpack.txt)"
rm -rf packages/_CPack_Packages
for package in bycc libbycc-runtime libbycc-dev; do
  deb=$(ls packages/${package}_*.deb)
  dpkg-deb --fsys-tarfile "$deb" | tar t | grep -v '/$' | sort > $package.files
  dpkg-deb -x "$deb" root
  dpkg-deb -f "$deb" Depends > $package.depends
done
expect "$(sort bycc.files libbycc-runtime.files libbycc-dev.files | uniq -d)" ""
has() { grep -qE "^./usr/$2\$" "$1.files" || fail "$2 is not in $1"; }
for file in bin/bycc bin/bycc-opt 'lib.*/libbycc.so.0.1' libexec/bycc/bycc-worker share/man/man1/bycc.1 \
            share/bash-completion/completions/bycc share/bycc/patterns/dnnl.json share/doc/bycc/copyright; do
  has bycc "$file"
done
has libbycc-runtime bin/bycc-run
has libbycc-runtime share/man/man1/bycc-run.1
has libbycc-runtime 'lib.*/libbycc_runtime.so.0'
has libbycc-runtime 'lib.*/bycc/libbycc_vendor_dnnl.so'
for file in include/bycc/compiler.h include/bycc/Compiler.h 'lib.*/libbycc.so' 'lib.*/libbycc_runtime.a' \
            share/bycc/cmake/byccConfig.cmake bin/bycc-vendor-test; do
  has libbycc-dev "$file"
done
grep -q 'libbycc-runtime (= .*libllvm19' bycc.depends || fail "bycc: $(cat bycc.depends)"
grep -q libdnnl libbycc-runtime.depends || fail "libbycc-runtime: $(cat libbycc-runtime.depends)"
grep -qE 'LLVM|llvm' libbycc-runtime.depends && fail "libbycc-runtime: $(cat libbycc-runtime.depends)"
grep -q 'bycc (= ' libbycc-dev.depends || fail "libbycc-dev: $(cat libbycc-dev.depends)"

clean() { env -i PATH=/usr/bin:/bin OMP_NUM_THREADS=1 "$@"; }
usr=$work/root/usr

models=$usr/share/bycc/models
clean "$usr/bin/bycc" "$models/example.onnx" --annotate=dnnl -q -o example.o
clean "$usr/bin/bycc-run" example.json --inputs "$models/example" --expected "$models/example-expected"
for kind in '' =static; do
  # shellcheck disable=SC2046
  clean cc -Wall -Werror -I"$usr/include" -I. "$usr/share/bycc/examples/c/run_linked.c" \
    $("$usr/bin/bycc" --libs$kind example.json) -o linked
  # The run half is found beside libbycc_runtime.so, which a static program has not.
  clean env ${kind:+BYCC_PLUGIN_PATH="$usr/lib/bycc"} ./linked example.params | grep -q '^largest of' || fail "a program linked as --libs$kind says does not run"
done
ldd linked | grep -q libbycc && fail "a static runtime needs libbycc"
exit 0
