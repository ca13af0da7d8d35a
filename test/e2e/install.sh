# Sourced after lib.sh: installs the build into $PREFIX and uses that instead.
[ -n "${BYCC_BUILD:-}" ] || skip "BYCC_BUILD does not say which build to install"
PREFIX=$work/prefix
cmake --install "$BYCC_BUILD" --prefix "$PREFIX" > install.txt 2>&1 || fail "$(tail -5 install.txt)"
PATH=$PREFIX/bin:${PATH#*:}
