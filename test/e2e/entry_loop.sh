#!/usr/bin/env bash
# A function that calls itself as its last step runs as a loop of the compiled entry.
. "$(dirname "$0")/lib.sh"

# compile NAME [OPTION...]
compile() { bycc "$1.relay" "${@:2}" -q -o "$1.o"; }
# run NAME INPUT=FILE...
run() {
  local name=$1
  shift
  rm -rf out
  bycc-run "$name.json" "${@/#/--input=}" --outputs out
}
out() { npy show out/output_$1.npy; }
# gives WANT NAME INPUT=FILE...: all outputs of a run, with commas
gives() {
  run "${@:2}"
  local file found=
  for file in out/output_*.npy; do found+="${found:+, }$(npy show "$file")"; done
  expect "$found" "$1"
}

npy write zero.npy i8 "" 0
npy write one.npy i8 "" 1
npy write ten.npy i8 "" 10
npy write many.npy i8 "" 100000
npy write x.npy f4 2 0 1

# Values change places; a value that nothing changes is no business of the loop.
cat > fibonacci.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(2), float32]) -> (int64, Tensor[(2), float32]) {
  let %loop = fn (%i: int64, %a: Tensor[(2), float32], %b: Tensor[(2), float32], %most: int64) -> (int64, Tensor[(2), float32]) {
    %0 = less(%i, %most);
    if (%0) {
      %1 = add(%i, 1i64);
      %2 = add(%a, %b);
      %loop(%1, %b, %2, %most)
    } else {
      (%i, %a)
    }
  };
  %3 = zeros_like(%x);
  %loop(0i64, %3, %x, %n)
}
END
for options in "-O0" "-O2"; do
  compile fibonacci $options
  gives "scalar 10, 2 0 55" fibonacci n=ten.npy x=x.npy
  gives "scalar 0, 2 0 0" fibonacci n=zero.npy x=x.npy
done
run fibonacci n=many.npy x=x.npy
expect "$(out 0)" "scalar 100000"
bycc-opt fibonacci.relay -o printed.relay
bycc-opt printed.relay -o again.relay
cmp printed.relay again.relay

# Two values that are exchanged, and one that is both.
cat > exchange.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(2), float32]) -> (Tensor[(2), float32], Tensor[(2), float32], Tensor[(2), float32]) {
  let %loop = fn (%i: int64, %a: Tensor[(2), float32], %b: Tensor[(2), float32], %c: Tensor[(2), float32]) -> (Tensor[(2), float32], Tensor[(2), float32], Tensor[(2), float32]) {
    %0 = less(%i, %n);
    if (%0) {
      %1 = add(%a, 10f);
      %loop(add(%i, 1i64), %b, %1, %1)
    } else {
      (%a, %b, %c)
    }
  };
  %2 = negative(%x);
  %loop(0i64, %x, %2, %2)
}
END
for options in "-O0" "-O2"; do
  compile exchange $options
  gives "2 -0 -1, 2 10 11, 2 10 11" exchange n=one.npy x=x.npy
  gives "2 50 51, 2 50 49, 2 50 49" exchange n=ten.npy x=x.npy
done

# A tensor that grows, with weights from outside.
cat > grow.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(2), float32]) -> Tensor[(?, 2), float32] {
  let %w = multiply(%x, 2f);
  let %loop = fn (%i: int64, %all: Tensor[(?, 2), float32]) -> Tensor[(?, 2), float32] {
    %0 = less(%i, %n);
    if (%0) {
      %1 = cast(%i, dtype="float32");
      %2 = add(%w, %1);
      %3 = expand_dims(%2, axis=0);
      %4 = concatenate((%all, %3), axis=0);
      %loop(add(%i, 1i64), %4)
    } else {
      %all
    }
  };
  %5 = expand_dims(%x, axis=0);
  %loop(0i64, %5)
}
END
npy write three.npy i8 "" 3
for options in "-O0" "-O2"; do
  compile grow $options
  gives "4x2 0 1 0 2 1 3 2 4" grow n=three.npy x=x.npy
  gives "1x2 0 1" grow n=zero.npy x=x.npy
done
npy write thousand.npy i8 "" 1000
run grow n=thousand.npy x=x.npy
expect "$(out 0 | cut -d' ' -f1)" "1001x2"
expect "$(out 0 | grep -o ' 999 1001$')" " 999 1001"

# K is another extent in every turn, and for the function that a turn ends with.
cat > symbols.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(K), float32]) -> Tensor[(?), float32] {
  let %loop = fn (%i: int64, %s: Tensor[(K), float32]) -> Tensor[(?), float32] {
    if (less(%i, %n)) {
      let %step = fn (%y: Tensor[(K), float32]) -> Tensor[(?), float32] {
        %loop(add(%i, 1i64), concatenate((dyn.full(7f, shape_of(%y), dtype="float32"), add(%y, ones_like(%s))), axis=0))
      };
      %step(%s)
    } else {
      add(%s, ones_like(%s))
    }
  };
  %loop(0i64, %x)
}
END
npy write two.npy i8 "" 2
for options in "-O0" "-O2"; do
  compile symbols $options
  gives "8 8 8 8 8 9 9 3 4" symbols n=two.npy x=x.npy
done

# B comes from the state; the rows begin without elements of any extent.
cat > rows.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(B), float32]) -> Tensor[(?, B), float32] {
  %0 = zeros(shape=[0, 0], dtype="float32");
  let %loop = fn (%i: int64, %s: Tensor[(B), float32], %rows: Tensor[(?, B), float32]) -> Tensor[(?, B), float32] {
    if (less(%i, %n)) {
      %1 = multiply(%s, add(%s, %x));
      %2 = expand_dims(%1, axis=0);
      %3 = if (equal(%i, 0i64)) { %2 } else { concatenate((%rows, %2)) };
      %loop(add(%i, 1i64), %1, %3)
    } else {
      %rows
    }
  };
  %loop(0i64, %x, %0)
}
END
for options in "-O0" "-O2"; do
  compile rows $options
  gives "2x2 0 2 0 6" rows n=two.npy x=x.npy
done

# A loop in a loop, both in a branch; the inner one begins with what the outer has.
cat > nested.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  %0 = greater(%n, 0i64);
  if (%0) {
    let %outer = fn (%i: int64, %a: Tensor[(2), float32]) -> Tensor[(2), float32] {
      %1 = less(%i, %n);
      if (%1) {
        let %inner = fn (%j: int64, %b: Tensor[(2), float32]) -> Tensor[(2), float32] {
          if (less(%j, %i)) {
            %inner(add(%j, 1i64), add(%b, %x))
          } else {
            multiply(%b, 2f)
          }
        };
        %2 = %inner(0i64, %a);
        %outer(add(%i, 1i64), subtract(%2, %a))
      } else {
        %a
      }
    };
    %outer(0i64, %x)
  } else {
    negative(%x)
  }
}
END
for options in "-O0" "-O2" "-O2 --annotate=dnnl"; do
  compile nested $options
  gives "2 0 7" nested n=three.npy x=x.npy
  gives "2 -0 -1" nested n=zero.npy x=x.npy
done

# Rows written into what the loop carries on.
cat > rows.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(2), float32]) -> (Tensor[(3, 2), float32], Tensor[(2), float32]) {
  let %ones = ones(shape=[1], dtype="int64");
  let %loop = fn (%i: int64, %all: Tensor[(3, 2), float32], %h: Tensor[(2), float32]) -> (Tensor[(3, 2), float32], Tensor[(2), float32]) {
    %0 = less(%i, %n);
    if (%0) {
      %1 = add(%h, 1f);
      %2 = expand_dims(%1, axis=0);
      %3 = reshape(%i, newshape=[1]);
      %4 = add(%3, 1i64);
      %5 = strided_set(%all, %2, %3, %4, %ones);
      %loop(add(%i, 1i64), %5, %1)
    } else {
      (%all, %h)
    }
  };
  %6 = zeros(shape=[3, 2], dtype="float32");
  %loop(0i64, %6, %x)
}
END
compile rows -O2
gives "3x2 1 2 2 3 3 4, 2 3 4" rows n=three.npy x=x.npy
gives "3x2 1 2 0 0 0 0, 2 1 2" rows n=one.npy x=x.npy
refuse 1 "strided_set: v ends 1 rows after the slice" bycc-run rows.json --input n=ten.npy --input x=x.npy

# Regions of a vendor in the body and in a branch, called every turn.
cat > regions.relay <<'END'
#[version = "0.0.5"]
def @main(%n: int64, %x: Tensor[(64, 256), float32], %w: Tensor[(256, 256), float32]) -> Tensor[(64, 256), float32] {
  let %loop = fn (%i: int64, %s: Tensor[(64, 256), float32]) -> Tensor[(64, 256), float32] {
    if (less(%i, %n)) {
      %0 = nn.dense(%s, %w, units=256);
      %1 = nn.relu(%0);
      %2 = if (less(%i, 2i64)) { nn.dense(%1, %w, units=256) } else { multiply(%1, 0.5f) };
      %loop(add(%i, 1i64), tanh(%2))
    } else {
      %s
    }
  };
  %loop(0i64, %x)
}
END
npy write five.npy i8 "" 5
bycc regions.relay -q -o regions.o
bycc-run regions.json --input n=five.npy --random=1 --outputs want
bycc regions.relay -q --annotate=dnnl --cost-model=none --expect-regions=4 -o regions.o
bycc-run regions.json --input n=five.npy --random=1 --expected=want

# Results of branches with other extents.
cat > branches.relay <<'END'
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(2, 3), float32]) -> (Tensor[(?, 2), int32], int64, Tensor[(2, 3), float32]) {
  %0 = greater(%x, 0f);
  %1 = if (%c) {
    (argwhere(%0), 1i64, %x)
  } else {
    %2 = less(%x, 0f);
    %3 = if (%c) { argwhere(%0) } else { argwhere(%2) };
    (%3, 2i64, negative(%x))
  };
  %4 = add(%1.0, 1);
  (%4, %1.1, %1.2)
}
END
npy write y.npy f4 2x3 1 -1 0 0 2 3
npy write yes.npy b1 "" 1
npy write no.npy b1 "" 0
for options in "-O0" "-O2"; do
  compile branches $options
  gives "3x2 1 1 2 2 2 3, scalar 1, 2x3 1 -1 0 0 2 3" branches c=yes.npy x=y.npy
  gives "1x2 1 2, scalar 2, 2x3 -1 1 -0 -0 -2 -3" branches c=no.npy x=y.npy
done

# Recursion that is no loop.
cat > factorial.relay <<'END'
#[version = "0.0.5"]
def @factorial(%n: int64) -> int64 {
  if (less(%n, 2i64)) { 1i64 } else { multiply(%n, @factorial(subtract(%n, 1i64))) }
}
def @main(%n: int64) -> int64 { @factorial(%n) }
END
refuse 1 "the recursive call of @factorial has no host code: it is not the last step of the function" bycc factorial.relay -q -o f.o

# A global function as a loop.
cat > global.relay <<'END'
#[version = "0.0.5"]
def @factorial(%n: int64, %product: int64) -> int64 {
  if (less(%n, 2i64)) { %product } else { @factorial(subtract(%n, 1i64), multiply(%n, %product)) }
}
def @main(%n: int64) -> int64 { @factorial(%n, 1i64) }
END
compile global -O2
gives "scalar 6" global n=three.npy
