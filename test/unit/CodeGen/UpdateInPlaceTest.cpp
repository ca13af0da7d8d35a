// Where rows are written in place, and what is made in a carried value's spare memory.
#include "Program.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::codegen;

namespace {

using Kind = Instr::Kind;

// A loop that carries `c` on: Loop, If, ... the test's instructions.
struct Draft {
  Program p;
  ValueId row, at, condition, carried, result;

  Draft() {
    row = value(Value::Kind::Input);
    at = value(Value::Kind::Input);
    condition = value(Value::Kind::Input);
    ValueId initial = made();
    carried = bound();
    p.values[carried].memory = value();
    p.values[carried].spare = value();
    result = bound();
    add(Kind::Loop, {initial}, {carried});
    add(Kind::If, {condition}, {});
  }
  ValueId value(Value::Kind kind = Value::Kind::Buffer) {
    Value value;
    value.kind = kind;
    value.dims = {p.exprs.integer(4)};
    p.values.push_back(value);
    return static_cast<ValueId>(p.values.size() - 1);
  }
  ValueId bound() {
    ValueId id = value();
    p.values[id].isBound = true;
    return id;
  }
  void add(Kind kind, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
    Instr instr;
    instr.kind = kind;
    instr.inputs = std::move(inputs);
    instr.outputs = std::move(outputs);
    p.instrs.push_back(instr);
  }
  ValueId made(std::vector<ValueId> inputs = {}) {
    ValueId out = value();
    add(Kind::Kernel, std::move(inputs), {out});
    return out;
  }
  ValueId setRows(ValueId x) {
    ValueId out = value();
    add(Kind::SetRows, {x, row, at}, {out});
    return out;
  }
  // The turn ends with `next`, the loop with `left`.
  void finish(ValueId next, ValueId left) {
    add(Kind::Next, {next}, {carried});
    add(Kind::Else, {}, {});
    add(Kind::Leave, {left}, {result});
    add(Kind::EndIf, {}, {});
    add(Kind::EndLoop, {}, {});
    made({result});
    updateInPlace(p);
  }
  bool isInPlace(ValueId value) const { return p.values[value].alias != none; }
};

} // namespace

TEST_CASE("rows go into the carried value when only the other branch reads it") {
  Draft d;
  ValueId y = d.setRows(d.carried);
  d.finish(y, d.carried);
  CHECK(d.p.values[y].alias == d.carried);
}

TEST_CASE("rows go into a copy when the old value is read later in the turn") {
  Draft d;
  ValueId y = d.setRows(d.carried);
  d.made({d.carried});
  d.finish(y, d.carried);
  CHECK_FALSE(d.isInPlace(y));
  CHECK(d.p.values[y].spareOf == d.carried);
}

TEST_CASE("what comes from before the loop is not overwritten in it") {
  Draft d;
  ValueId y = d.setRows(d.p.instrs[0].outputs[0]);
  d.finish(y, d.carried);
  CHECK_FALSE(d.isInPlace(y));
}

TEST_CASE("what an if may stand for is not overwritten") {
  Draft d;
  ValueId chosen = d.bound();
  d.add(Kind::If, {d.condition}, {});
  d.add(Kind::Bind, {d.carried}, {chosen});
  d.add(Kind::Else, {}, {});
  d.add(Kind::Bind, {d.row}, {chosen});
  d.add(Kind::EndIf, {}, {});
  ValueId y = d.setRows(d.carried);
  d.made({chosen});
  d.finish(y, d.carried);
  CHECK_FALSE(d.isInPlace(y));
}

TEST_CASE("a new value is made in spare memory unless something else keeps it") {
  Draft d;
  ValueId next = d.made({d.carried});
  d.finish(next, d.carried);
  CHECK(d.p.values[next].spareOf == d.carried);

  Draft kept;
  ValueId chosen = kept.bound();
  next = kept.made({kept.carried});
  kept.add(Kind::If, {kept.condition}, {});
  kept.add(Kind::Bind, {next}, {chosen});
  kept.add(Kind::Else, {}, {});
  kept.add(Kind::Bind, {kept.row}, {chosen});
  kept.add(Kind::EndIf, {}, {});
  kept.finish(next, kept.carried);
  CHECK(kept.p.values[next].spareOf == none);
}
