#!/usr/bin/env bash
# H1, H2: outputs that cannot be files are refused before anything is written.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  tanh(%x)
}
END2
mkdir dir
mkfifo pipe
: > refuse.out
before=$(ls -AR)
# kept: nothing was written
kept() { expect "$(ls -AR)" "$before"; }

# H2: a folder
for output in . .. / ./ dir dir/ dir/. missing/ missing/..; do
  refuse 1 "$output: error[IO]: is a directory" bycc net.relay -o $output
  refuse 1 "$output: error[IO]: is a directory" bycc net.relay --emit=relay -o $output
  refuse 1 "$output: error[IO]: is a directory" bycc net.relay -o dir/net.o --dump-offloads=$output
  kept
done

# H1: what is no regular file cannot be put in place with the rest of a set
for output in /dev/full /dev/null pipe; do
  refuse 1 "$output: error[IO]: is not a regular file" timeout 20 bycc net.relay -o $output
  [ ! -e /dev/full.json ] && [ ! -e /dev/full.h ] && [ ! -e /dev/null.json ] || fail "H1: files beside a device"
  kept
done
mkfifo dir/net.h
before=$(ls -AR)
refuse 1 "dir/net.h: error[IO]: is not a regular file" timeout 20 bycc net.relay -o dir/net.o
kept

# H1: a pipe that nobody reads, a device that is full: the rest is not written
for option in --dump-offloads=pipe -ftime-trace=pipe --save-partition-plan=pipe "-MF pipe"; do
  # shellcheck disable=SC2086
  refuse 1 "pipe: error[IO]: is a pipe that nobody reads" timeout 20 bycc net.relay -o net.o $option
  kept
done
refuse 1 "pipe: error[IO]: is a pipe that nobody reads" timeout 20 bycc net.relay --emit=relay -o pipe
refuse 1 "pipe: error[IO]: is a pipe that nobody reads" timeout 20 bycc-opt net.relay -o pipe
refuse 1 "/dev/full: error[IO]: cannot write: No space left on device" bycc net.relay -o net.o --dump-offloads=/dev/full
kept

# text goes to pipes and devices
bycc net.relay -q --emit=relay -o wanted.relay
exec 8<> pipe
bycc net.relay -q --emit=relay -o pipe
head -c "$(stat -c %s wanted.relay)" <&8 | cmp - wanted.relay || fail "another text through a pipe"
bycc net.relay -q --emit=relay -o /dev/stdout | cmp - wanted.relay || fail "another text through /dev/stdout"
bycc net.relay -q --emit=relay -o /dev/null
