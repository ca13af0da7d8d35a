#!/usr/bin/env bash
# Exactly the public headers are installed, and each can be included alone, from C where it is C.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
include=$PREFIX/include
sed -n 's/^  \(bycc\/.*\)$/\1/p' "$root/share/cmake/PublicHeaders.cmake" | sort > wanted.txt
(cd "$include" && find bycc -type f | sort) > installed.txt
cmp wanted.txt installed.txt || fail "$(diff wanted.txt installed.txt)"
[ "$(wc -l < wanted.txt)" -gt 30 ] || fail "few headers are listed"

for header in abi vendor pass runtime compiler; do
  echo "#include \"bycc/$header.h\"" > "$header.c"
  cc -std=c11 -Wall -Wextra -pedantic -Werror -I"$include" -fsyntax-only $header.c || fail "bycc/$header.h is no C11"
done
# Each is the first in a file, twice, beside the others of its kind.
grep -E '\.h(pp)?$' installed.txt | while read -r header; do
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" > "$(tr / _ <<< "$header").cpp"
done
ls ./*.cpp | xargs -P 2 -n 6 c++ -std=c++20 -Wall -Wextra -Wno-missing-field-initializers -Werror -fsyntax-only -I"$include" ||
  fail "a header does not stand alone"

# A program links what they declare.
cat > use.cpp <<'SOURCE'
#include "bycc/Compiler.h"
#include "bycc/Compiler/RequestOptions.h"
#include "bycc/IR/Verifier.h"
#include "bycc/Parser/Relay.h"
#include <cstdio>
int main() {
  bycc::CompileRequest request;
  request.input.model = "net.relay";
  request.files["net.relay"] = bycc::Storage::own(std::string(
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {\n  nn.relu(%x)\n}\n"));
  if (!bycc::setOption(request, "emit", "relay"))
    return 1;
  auto model = bycc::Compiler().compile(request);
  std::fputs(model ? model->relay.c_str() : model.error().str().c_str(), stdout);
}
SOURCE
c++ -std=c++20 -I"$include" use.cpp -L"$PREFIX/lib" -lbycc -Wl,-rpath,"$PREFIX/lib" -o use
./use | grep -q 'nn.relu(%x)' || fail "$(./use)"
readelf -d use | grep -q 'libbycc.so.0.1\]' || fail "the program does not say which libbycc it needs"
