# Messages with numbers: bycc explain tells of each, and each example in it ends with its message.
. "$(dirname "$0")/lib.sh"

python3 "$here/messages.py" "$root/share/models/example.onnx" "$work/examples"

bycc explain > list.txt
grep -q '^BY0201  an operator is not known$' list.txt || fail "the list"
bycc explain BY0201 | grep -q 'nn.rleu' || fail "an explanation has its example"
expect "$(bycc explain by0201)" "$(bycc explain 201)"
bycc explain POLICY | grep -q 'exit code 3' || fail "a status is explained"
refuse 2 "there is no message 'BY9999'" bycc explain BY9999

# The number stands in every form of a message.
printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(4), float32]) { nn.rleu(%%x) }\n' > net.relay
refuse 1 'operator nn.rleu is not known [BY0201]' bycc net.relay
refuse 1 '"id": "BY0201"' bycc net.relay -fdiagnostics-format=json
python3 "$here/schema.py" "$root/share/schema/diagnostics.schema.json" refuse.out
refuse 1 '"ruleId": "BY0201"' bycc net.relay -fdiagnostics-format=sarif
# Faults of the command line are said in the form that is asked for, wherever that stands.
refuse 2 "bycc: unknown option '--anotate=dnnl', did you mean '--annotate'? [BY0301]" bycc net.relay --anotate=dnnl
for format in -fdiagnostics-format=json '--fdiagnostics-format json'; do
  refuse 2 '"id": "BY0301"' bycc net.relay --anotate=dnnl $format
  python3 "$here/schema.py" "$root/share/schema/diagnostics.schema.json" refuse.out
done
refuse 2 '"ruleId": "BY0304"' bycc-opt -fdiagnostics-format=sarif
