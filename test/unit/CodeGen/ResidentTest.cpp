// Which values stay in a vendor's memory, and where they are released.
#include "Program.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::codegen;

namespace {

using Flags = std::vector<uint8_t>;

// A program of regions over values of four floats, written as what calls what.
struct Draft {
  Program p;

  uint32_t region(const char *vendor, bool ownsMemory = true) {
    p.regions.push_back({FunctionId(), "r", vendor, {}});
    p.regions.back().ownsMemory = ownsMemory;
    p.regions.back().code.residentInputs = p.regions.back().code.residentOutputs =
        Flags(4, 1); // as told
    return static_cast<uint32_t>(p.regions.size() - 1);
  }
  ValueId value(Value::Kind kind = Value::Kind::Buffer) {
    Value value;
    value.kind = kind;
    value.dims = {p.exprs.integer(4)};
    p.values.push_back(value);
    return static_cast<ValueId>(p.values.size() - 1);
  }
  ValueId call(uint32_t region, std::vector<ValueId> inputs) {
    ValueId out = value();
    add(Instr::Kind::Region, region, std::move(inputs), {out});
    return out;
  }
  void add(Instr::Kind kind, uint32_t callee, std::vector<ValueId> inputs,
           std::vector<ValueId> outputs) {
    Instr instr;
    instr.kind = kind;
    instr.callee = callee;
    instr.inputs = std::move(inputs);
    instr.outputs = std::move(outputs);
    p.instrs.push_back(instr);
  }
  void read(ValueId value) { add(Instr::Kind::Kernel, 0, {value}, {this->value()}); }
  bool isResident(ValueId value) const { return p.values[value].resident != none; }
};

} // namespace

TEST_CASE("other vendors, the host and the model's results need host memory") {
  Draft d;
  uint32_t a = d.region("npu"), b = d.region("npu"), other = d.region("gpu");
  ValueId x = d.value(Value::Kind::Input);
  ValueId inner = d.call(a, {x}), shared = d.call(a, {inner}), foreign = d.call(b, {inner, shared});
  d.read(shared);
  ValueId last = d.call(other, {foreign});
  d.p.values[last].output = 0;
  d.p.outputs = {last};
  findResidentValues(d.p);
  // `inner` is an output of region a, and so is `shared`, which the host reads.
  CHECK_FALSE(d.isResident(inner));
  CHECK_FALSE(d.isResident(shared));
  CHECK_FALSE(d.isResident(foreign));
  CHECK_FALSE(d.isResident(last));
}

TEST_CASE("no value is resident that its vendor was not told of") {
  Draft d;
  uint32_t a = d.region("npu"), b = d.region("npu"), c = d.region("npu");
  d.p.regions[b].code.residentInputs = {0};
  ValueId x = d.value(Value::Kind::Input);
  ValueId first = d.call(a, {x}), second = d.call(b, {first}), third = d.call(c, {second});
  d.p.values[third].output = 0;
  findResidentValues(d.p);
  CHECK_FALSE(d.isResident(first));
  CHECK(d.p.values[second].resident == b);
}

TEST_CASE("a chain of three regions") {
  Draft d;
  uint32_t a = d.region("npu"), b = d.region("npu"), c = d.region("npu");
  ValueId x = d.value(Value::Kind::Input);
  ValueId first = d.call(a, {x}), second = d.call(b, {first, x}),
          third = d.call(c, {second, first});
  d.p.values[third].output = 0;
  findResidentValues(d.p);
  CHECK(d.p.values[first].resident == a);
  CHECK(d.p.values[second].resident == b);
  CHECK_FALSE(d.isResident(third));
  CHECK(d.p.regions[a].residentInputs == Flags{0});
  CHECK(d.p.regions[a].residentOutputs == Flags{1});
  CHECK(d.p.regions[b].residentInputs == Flags{1, 0});
  CHECK(d.p.regions[c].residentInputs == Flags{1, 1});
  CHECK(d.p.regions[c].residentOutputs == Flags{0});
  CHECK(d.p.instrs[2].released == std::vector<ValueId>{first, second});
  REQUIRE(planMemory(d.p));
  CHECK(d.p.arenaBytes == 0);
}

TEST_CASE("a vendor without memory of its own, a value nobody reads, an unknown extent") {
  Draft d;
  uint32_t plain = d.region("dnnl", false), npu = d.region("npu");
  ValueId x = d.value(Value::Kind::Input);
  ValueId a = d.call(plain, {x});
  d.call(plain, {a});
  ValueId unread = d.call(npu, {x}), unknown = d.value();
  d.p.values[unknown].dims = {d.p.exprs.dim(0)};
  uint32_t maker = d.region("npu"), reader = d.region("npu");
  d.add(Instr::Kind::Region, maker, {x}, {unknown});
  d.call(reader, {unknown});
  findResidentValues(d.p);
  CHECK_FALSE(d.isResident(a));
  CHECK_FALSE(d.isResident(unread));
  CHECK_FALSE(d.isResident(unknown));
}

TEST_CASE("calls of one region agree") {
  Draft d;
  uint32_t maker = d.region("npu"), shared = d.region("npu"), reader = d.region("npu");
  ValueId x = d.value(Value::Kind::Input);
  ValueId made = d.call(maker, {x});
  ValueId once = d.call(shared, {made}), twice = d.call(shared, {x});
  d.call(reader, {once});
  d.read(twice);
  findResidentValues(d.p);
  CHECK_FALSE(d.isResident(made)); // the second call brings host memory
  CHECK_FALSE(d.isResident(once)); // the second result is read by the host
  CHECK(d.p.regions[maker].residentOutputs == Flags{0});
  CHECK(d.p.regions[reader].residentInputs == Flags{0});
}

TEST_CASE("a view of a resident value is resident; a copy of one is not") {
  Draft d;
  uint32_t a = d.region("npu"), b = d.region("npu"), c = d.region("npu");
  ValueId x = d.value(Value::Kind::Input);
  ValueId viewed = d.call(a, {x}), view = d.value();
  d.p.values[view].alias = viewed;
  ValueId copied = d.call(b, {view});
  d.add(Instr::Kind::Copy, 0, {copied}, {d.value()});
  d.call(c, {copied});
  findResidentValues(d.p);
  CHECK(d.p.values[viewed].resident == a);
  CHECK(d.p.instrs[1].released == std::vector<ValueId>{viewed});
  CHECK_FALSE(d.isResident(copied));
}

TEST_CASE("a value read in a branch only is released after the if") {
  Draft d;
  uint32_t a = d.region("npu"), b = d.region("npu"), c = d.region("npu"), e = d.region("npu");
  ValueId x = d.value(Value::Kind::Input), condition = d.value(Value::Kind::Input);
  ValueId outer = d.call(a, {x});
  d.add(Instr::Kind::If, 0, {condition}, {});
  ValueId inner = d.call(b, {outer});
  d.call(c, {inner});
  d.add(Instr::Kind::Else, 0, {}, {});
  d.call(e, {x});
  d.add(Instr::Kind::EndIf, 0, {}, {});
  findResidentValues(d.p);
  CHECK(d.p.instrs[3].released == std::vector<ValueId>{inner});
  CHECK(d.p.instrs[6].released == std::vector<ValueId>{outer});
}
