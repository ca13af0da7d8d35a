#!/usr/bin/env bash
# Help, manual pages and completions come from the tables of options, so that they know every
# option and no other; completions ask the program for passes, vendors and operators.
. "$(dirname "$0")/lib.sh"

for program in bycc bycc-opt bycc-run; do
  "$program" --help > help.txt
  "$program" -h | cmp - help.txt || fail "$program -h is not --help"
  expect "$(head -1 help.txt)" examples:
  expect "$(sed -n '2,6p' help.txt | grep -c "^  bycc.*  # ")" 5
  expect "$(sed -n 7p help.txt)" ""
  all=--help-all
  [ $program = bycc-run ] && all=--help
  "$program" $all > all.txt
  "$program" --print-text=man | sed 's/\\-/-/g' > "$program.1"
  "$program" --print-text=bash > "$program.bash"
  "$program" --print-text=zsh > "$program.zsh"
  "$program" --print-text=fish > "$program.fish"
  # What stands in the left column, all spellings; single passes are not written out.
  sed -n '/single passes/q; s/^  \(-.*\)/\1/p' all.txt | sed 's/   .*//; s/, /\n/g' |
    sed 's/[=[ ].*//; s/^--*//' | sort -u > options.txt
  [ "$(wc -l < options.txt)" -gt 20 ] || fail "$program $all lists few options"
  while read -r name; do
    grep -qE -- "^\.B (.*, )?--?$name([=, []|\$)" "$program.1" || fail "$name is not in $program.1"
    grep -qE -- "[' ]--?$name([=' ]|\$)" "$program.bash" || fail "$name is not in $program.bash"
    grep -qE -- "--?$name[=+[]" "$program.zsh" || fail "$name is not in $program.zsh"
    grep -qE -- " -[slo] $name( |\$)" "$program.fish" || fail "$name is not in $program.fish"
  done < options.txt
  # The build has made the same.
  texts=$bin/../texts
  for file in man:man/man1/$program.1 bash:bash-completion/completions/$program zsh:zsh/site-functions/_$program \
              fish:fish/vendor_completions.d/$program.fish; do
    "$program" --print-text="${file%%:*}" | cmp - "$texts/${file#*:}" || fail "$file is of another build"
  done
done
grep -q print-text help.txt bycc.1 bycc.bash && fail "the option for the build is shown"
if [ -x /usr/bin/man ]; then
  bycc --print-text=man > page.1
  MANWIDTH=80 man --warnings ./page.1 > page.txt 2> warnings.txt
  expect "$(cat warnings.txt)" ""
  grep -q -- '--annotate=V1' page.txt || fail "the page does not show"
fi

# complete WORD...: what bash offers for the last one.
complete_words() {
  # shellcheck source=/dev/null
  bash -c 'compopt() { :; }; . "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); "_${1//[^a-z]/_}"; printf "%s\n" "${COMPREPLY[@]}"' \
    - "$1.bash" "$@" | sort | tr '\n' ' '
}
touch net.onnx net.relay
mkdir nets
expect "$(complete_words bycc --nan = ke)" "keep "
expect "$(complete_words bycc -nan = '')" "fast keep "
expect "$(complete_words bycc net.onnx --color = a)" "always auto "
expect "$(complete_words bycc net.onnx --list-v)" "--list-vendors "
expect "$(complete_words bycc --emit = obj,re)" "obj,relay "
expect "$(complete_words bycc --disable-pass = fold-c)" "fold-constants "
expect "$(complete_words bycc --passes legalize,infer-t)" "legalize,infer-type "
expect "$(complete_words bycc --annotate ccompiler,dn)" "ccompiler,dnnl "
expect "$(complete_words bycc --annotate-ops = nn.conv2d_t)" "nn.conv2d_transpose "
expect "$(complete_words bycc insp)" "inspect "
expect "$(complete_words bycc ne)" "net.onnx net.relay nets "
expect "$(complete_words bycc --partition-plan = ne)" "net.onnx net.relay nets "
expect "$(complete_words bycc extract net.onnx --inputs ne)" "nets "
expect "$(complete_words bycc --random ne)" "net.onnx net.relay nets " # its value stands after '=' only
expect "$(complete_words bycc-opt net.relay --fold-c)" "--fold-constants "
expect "$(complete_words bycc-run --exp)" "--expected= "
for shell in zsh fish; do
  [ -x /usr/bin/$shell ] || continue
  for program in bycc bycc-opt bycc-run; do
    $shell -n "$program.$shell" || fail "$program.$shell is no $shell"
  done
done

refuse 2 "did you mean '--fold-constants'" bycc-opt net.relay --fold-constnts
refuse 2 "it takes man|bash|zsh|fish" bycc --print-text=tcsh
