// Rows of costs: which one counts for a call, and which calls a class holds.

#include "bycc/IR/Op.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

struct Program {
  Module module;
  std::vector<NodeId> calls; // of operators, in order

  explicit Program(const std::string &function) {
    Expected<Module> parsed = parseRelay("#[version = \"0.0.5\"]\ndef @main" + function, "t.relay");
    if (!parsed)
      FAIL(parsed.error().str());
    module = parsed.takeValue();
    for (NodeId node : module.block(module.function(module.main()).body).nodes)
      if (module.node(node).kind == NodeKind::CallOp)
        calls.push_back(node);
  }
};

CostModel costs(const std::string &members) {
  auto vendor = readVendorFile(
      "{\"vendor\": \"v\", \"patterns\": [{\"name\": \"v.p\", \"root\": \"nn.relu(abs(*))\"}], "
      "\"cost\": {" +
          members + "}}",
      "v.json");
  if (!vendor)
    FAIL(vendor.error().str());
  return *(*vendor)->cost;
}

// Read for the call's operator, and for any.
bool holds(const std::string &text, const Program &program, size_t call = 0,
           const std::string &classes = "") {
  CostModel model = costs("\"classes\": {" + classes + "}");
  bool result[2];
  for (bool isAny : {false, true}) {
    OpId op = isAny ? OpId() : program.module.node(program.calls.at(call)).op;
    Expected<CostClass> parsed = CostClass::parse(text, op, model.classes);
    if (!parsed)
      FAIL(parsed.error().str());
    result[isAny] = parsed->holds(program.module, program.calls.at(call));
  }
  CHECK(result[0] == result[1]);
  return result[0];
}

double gflops(const CostModel &model, const Program &program, size_t call = 0) {
  return model.ratesOf(program.module, program.calls.at(call)).flopsPerMicrosecond / 1000;
}

const char *products = R"((%x: Tensor[(2, 4, 8), float32], %y: Tensor[(2, 8, 6), float32],
    %i: Tensor[(2, 8), int8], %j: Tensor[(5, 8), int8]) {
  %0 = nn.batch_matmul(%x, %y);
  %1 = nn.dense(%i, %j, units=5, out_dtype="int32");
  (%0, %1)
})";

} // namespace

TEST_CASE("built-in classes of convolutions") {
  Program program(R"((%x: Tensor[(1, 4, 6, 6), float32], %n: Tensor[(1, 6, 6, 4), float32],
      %one: Tensor[(1, 1, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32],
      %depth: Tensor[(8, 1, 3, 3), float32], %group: Tensor[(4, 2, 3, 3), float32],
      %point: Tensor[(4, 4, 1, 1), float32], %hwio: Tensor[(1, 1, 1, 4), float32],
      %single: Tensor[(2, 1, 3, 3), float32]) {
    %0 = nn.conv2d(%x, %w);
    %1 = nn.conv2d(%x, %depth, groups=4);
    %2 = nn.conv2d(%x, %group, groups=2);
    %3 = nn.conv2d(%x, %point);
    %4 = nn.conv2d(%n, %hwio, groups=4, data_layout="NHWC", kernel_layout="HWIO");
    %5 = nn.conv2d(%one, %single);
    (%0, %1, %2, %3, %4, %5)
  })");
  const char *names[] = {"depthwise", "grouped", "pointwise"};
  const bool expected[][3] = {{false, false, false}, {true, false, false}, {false, true, false},
                              {false, false, true},  {true, false, true},  {false, false, false}};
  for (size_t call = 0; call < 6; ++call)
    for (size_t name = 0; name < 3; ++name) {
      INFO(call << " " << names[name]);
      CHECK(holds(names[name], program, call) == expected[call][name]);
    }
  CHECK(holds("depthwise, pointwise", program, 4));
  CHECK_FALSE(holds("depthwise, pointwise", program, 1));
  for (size_t call = 0; call < 5; ++call)
    CHECK(holds("channels=4", program, call));
  CHECK(holds("channels<4", program, 5));
  CHECK(holds("filters=2, multiplier=2", program, 1));
  CHECK(holds("filters=2", program, 2)); // of each group
  CHECK(holds("filters=4", program, 3));
  CHECK(holds("filters=1", program, 4));
  CHECK(holds("multiplier=1", program, 4)); // whatever the layout of the weights
  CHECK_FALSE(holds("multiplier>0", program, 2));
}

TEST_CASE("measures") {
  Program program(products);
  CHECK(holds("rows=8", program, 0)); // 2 * 4
  CHECK(holds("rows=2", program, 1));
  CHECK(holds("rows>=8<9", program, 0));
  CHECK_FALSE(holds("rows<8", program, 0));
  CHECK_FALSE(holds("rows!=8", program, 0));
  CHECK(holds("elements=48", program, 0));
  CHECK(holds("elements>9", program, 1));
  CHECK(holds("k=8", program, 0));
  CHECK_FALSE(holds("filters>0", program, 0));
  CHECK(holds("k>7.5, k<=8", program, 1));
  CHECK_FALSE(holds("k=8, rows=3", program, 1));
  // A scalar is one row of one; unknown extents count as likely; axis 1 there is none.
  Program scalar("(%x: Tensor[(?, 4), float32]) { %0 = abs(%x); sum(%0) }");
  CHECK(holds("rows=64, elements=256", scalar, 0));
  CHECK(holds("rows=1, elements=1", scalar, 1));
  Program vector("(%x: Tensor[(4), float32]) { abs(%x) }");
  CHECK_FALSE(holds("channels=1", vector));
  CHECK_FALSE(holds("channels!=1", vector));
}

TEST_CASE("attributes") {
  Program program(
      R"((%x: Tensor[(2, 3, 4), float32], %w: Tensor[(4, 4, 3), float32], %y: Tensor[(1, 4, 8), float32]) {
    %0 = nn.softmax(%x, axis=2);
    %1 = nn.softmax(%x, axis=-2);
    %2 = mean(%x, axis=[1, 2]);
    %3 = mean(%x);
    %4 = expand_dims(%x, axis=3);
    %5 = nn.conv1d(%y, %w, strides=[2], data_layout="NCW");
    (%0, %1, %2, %3, %4, %5)
  })");
  CHECK(holds("axis=-1", program, 0));
  CHECK(holds("axis=2", program, 0));
  CHECK(holds("axis!=1", program, 0));
  CHECK(holds("axis>=-1", program, 0));
  CHECK(holds("axis>1", program, 0));
  CHECK_FALSE(holds("axis=-1", program, 1));
  CHECK(holds("axis!=-1", program, 1));
  CHECK(holds("axis=0|1", program, 1));
  CHECK(holds("axis<-1", program, 1));
  CHECK(holds("axis=[-2, -1]", program, 2));
  CHECK_FALSE(holds("axis=-1", program, 2));
  CHECK(holds("axis>0", program, 2));
  CHECK(holds("axis=None", program, 3));
  CHECK_FALSE(holds("axis=0", program, 3));
  CHECK(holds("axis=-1", program, 4)); // of the result
  CHECK(holds("strides=[2], data_layout=NCW", program, 5));
  CHECK(holds("strides>1", program, 5));
  CHECK_FALSE(holds("data_layout!=\"NCW\"", program, 5));
  // An operator without the attribute is in no class of it.
  Program plain("(%x: Tensor[(4), float32]) { abs(%x) }");
  CostClass any = CostClass::parse("axis!=7", OpId(), {}).takeValue();
  CHECK_FALSE(any.holds(plain.module, plain.calls[0]));
}

TEST_CASE("rows of what is fused stand apart") {
  Program program("(%x: Tensor[(4), float32]) { abs(%x) }");
  VendorFile file = VendorFile::parse(R"({"vendor": "v", "cost": {"gb_per_s": 2,
      "ops": {"abs": {"gb_per_s": 3}},
      "rows": [{"op": "abs", "class": "fused", "gb_per_s": 40},
               {"op": "abs", "class": "fused", "dtype": "int8", "gb_per_s": 50}]}})",
                                      "v.json")
                        .takeValue();
  Vendor host("host");
  REQUIRE(file.applyTo(host));
  NodeId call = program.calls[0];
  CHECK(host.cost->ratesOf(program.module, call).bytesPerMicrosecond == 3000);
  REQUIRE(host.cost->fusedRatesOf(program.module, call));
  CHECK(host.cost->fusedRatesOf(program.module, call)->bytesPerMicrosecond == 40000);
  CHECK_FALSE(costs("\"ops\": {\"abs\": {\"gb_per_s\": 3}}").fusedRatesOf(program.module, call));
  auto vendor = readVendorFile(
      R"({"vendor": "v", "cost": {"rows": [{"op": "abs", "class": "fused", "gb_per_s": 4}]}})",
      "v.json");
  REQUIRE_FALSE(vendor);
  CHECK(vendor.error().str().find("class 'fused' is of host code") != std::string::npos);
}

TEST_CASE("classes of a file") {
  Program program(products);
  std::string classes =
      R"("bytes": {"dtype": ["int8"]}, "either": {"any_of": [{"dtype": ["int8"]}, {"results": {"0": {"min_elements": 40}}}]})";
  CHECK_FALSE(holds("bytes", program, 0, classes));
  CHECK(holds("bytes", program, 1, classes));
  CHECK(holds("either", program, 0, classes));
  CHECK(holds("either, rows<8", program, 1, classes));
  // Rows of a later file know them.
  auto vendor =
      readVendorFile("{\"vendor\": \"v\", \"cost\": {\"classes\": {" + classes + "}}}", "v.json")
          .takeValue();
  VendorFile more =
      VendorFile::parse(
          R"({"vendor": "v", "cost": {"rows": [{"op": "*", "class": "bytes", "gflops": 3}]}})",
          "w.json")
          .takeValue();
  REQUIRE(more.applyTo(*vendor));
  CHECK(gflops(*vendor->cost, program, 0) == 0);
  CHECK(gflops(*vendor->cost, program, 1) == 3);
}

TEST_CASE("the most special row counts") {
  Program program(products);
  std::string
      any = R"({"op": "*", "gflops": 2})",
      exact = R"({"op": "nn.dense", "gflops": 3})",
      special = R"({"op": "*", "class": "rows=2", "dtype": "int8", "threads": 1, "gflops": 4})",
      dtype = R"({"op": "nn.dense", "dtype": "int8", "gflops": 5})",
      both = R"({"op": "nn.dense", "class": "rows=2", "dtype": "int8", "gflops": 6})",
      two = R"({"op": "nn.dense", "class": "rows=2, k=8", "gflops": 7})",
      other =
          R"({"op": "nn.dense", "class": "rows=3", "dtype": "int8", "threads": 1, "gflops": 8})";
  auto of = [&](std::initializer_list<std::string> rows) {
    std::vector<std::string> list(rows);
    std::string text;
    for (const std::string &row : list)
      text += (text.empty() ? "" : ", ") + row;
    double forwards = gflops(costs("\"gflops\": 1, \"rows\": [" + text + "]"), program, 1);
    text.clear();
    for (const std::string &row : list)
      text = row + (text.empty() ? "" : ", ") + text;
    double backwards = gflops(costs("\"gflops\": 1, \"rows\": [" + text + "]"), program, 1);
    return std::pair(forwards, backwards);
  };
  CHECK(of({}) == std::pair(1.0, 1.0));
  CHECK(of({any}) == std::pair(2.0, 2.0));
  CHECK(of({any, special}) == std::pair(4.0, 4.0));
  CHECK(of({exact, special}) == std::pair(3.0, 3.0)); // the operator before any constraint
  CHECK(of({exact, dtype}) == std::pair(5.0, 5.0));
  CHECK(of({dtype, both, exact}) == std::pair(6.0, 6.0));
  CHECK(of({both, two}) == std::pair(7.0, 6.0));    // equals: the later one
  CHECK(of({dtype, other}) == std::pair(5.0, 5.0)); // a row that does not fit
  // `ops` are rows without constraints; what a row leaves out is as for all others.
  CostModel model = costs(R"("gflops": 1, "gb_per_s": 9, "ops": {"nn.dense": {"gflops": 2}},
    "rows": [{"op": "nn.dense", "class": "rows=3", "gflops": 3}, {"op": "nn.batch_matmul", "gb_per_s": 4},
             {"op": "abs", "us": 7}, {"op": "exp", "us": 3, "gb_per_s": 5}])");
  CHECK(gflops(model, program, 1) == 2);
  CHECK(model.ratesOf(program.module, program.calls[1]).bytesPerMicrosecond == 9000);
  CHECK(gflops(model, program, 0) == 1);
  CHECK(model.ratesOf(program.module, program.calls[0]).bytesPerMicrosecond == 4000);
  CHECK_FALSE(model.ratesOf(program.module, program.calls[0]).microseconds);
  Program other1("(%x: Tensor[(4), float32]) { abs(%x) }");
  CHECK(model.ratesOf(other1.module, other1.calls[0]).microseconds == 7);
  // Beside a rate it is what every call takes besides.
  Program other2("(%x: Tensor[(4), float32]) { exp(%x) }");
  CostRates exp = model.ratesOf(other2.module, other2.calls[0]);
  CHECK_FALSE(exp.microseconds);
  CHECK(exp.callMicroseconds == 3);
  CHECK(exp.bytesPerMicrosecond == 5000);
  // A row of several operators.
  model = costs(
      R"("gflops": 1, "rows": [{"op": "nn.dense|nn.batch_matmul", "class": "rows>2", "gflops": 3},
    {"op": "abs|*", "gflops": 2}])");
  CHECK(gflops(model, program, 0) == 3);
  CHECK(gflops(model, program, 1) == 2);
  auto unknown = readVendorFile(
      R"({"vendor": "v", "cost": {"rows": [{"op": "nn.dense|nn.densse", "gflops": 1}]}})",
      "v.json");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.takeError().str().find("nn.densse") != std::string::npos);
}

TEST_CASE("of rows with as many constraints a tighter one counts, wherever it stands") {
  Program program(products); // of nn.dense: k 8, rows 2, elements 10
  auto of = [&](std::initializer_list<const char *> classes) {
    std::string text;
    double number = 0;
    for (const char *each : classes)
      text += (text.empty() ? "" : ", ") + std::string(R"({"op": "nn.dense", "class": ")") + each +
              R"(", "gflops": )" + std::to_string(++number) + "}";
    return gflops(costs(R"("rows": [)" + text + "]"), program, 1);
  };
  CHECK(of({"k<9", "k<16"}) == 1);
  CHECK(of({"k<16", "k<9"}) == 2);
  CHECK(of({"k<=8", "k<9"}) == 1);
  CHECK(of({"k=8", "k<9", "k>2"}) == 1);
  CHECK(of({"k=8", "k=8|9", "k!=7"}) == 1);
  CHECK(of({"k!=7|9", "k!=7"}) == 1);
  CHECK(of({"k>4<16", "k<17", "k>4"}) == 1);
  CHECK(of({"k<9, rows<4", "k<16, rows<4"}) == 1);
  CHECK(of({"k<9", "k<16", "k<9"}) == 3); // equals: the later one
  CHECK(of({"k<9", "k>2"}) == 2);         // neither is in the other
  CHECK(of({"k<9, rows<8", "k<16, rows<4"}) == 2);
  CHECK(of({"k<9", "k<16, rows<4"}) == 2); // more constraints come first
  // What one of the tightest loses to, an older one does not lose to.
  CHECK(of({"k<9", "rows<4", "k<16"}) == 2);
  CHECK(of({"k<7", "rows<4", "k<16"}) == 3);
  CostModel types =
      costs(R"("rows": [{"op": "nn.dense", "class": "k<9", "dtype": "int8", "gflops": 1},
    {"op": "nn.dense", "class": "k<16", "dtype": "int8", "gflops": 2}])");
  CHECK(gflops(types, program, 1) == 1);
  // Rows of a CPU are later ones, no tighter ones.
  auto onZen = [&](const char *wide, const char *narrow) {
    CostModel model =
        costs(std::string(R"("rows": [{"op": "nn.dense", "class": ")") + wide +
              R"(", "gflops": 1}], "cpus": {"znver4": {"rows": [{"op": "nn.dense", "class": ")" +
              narrow + R"(", "gflops": 2}]}})");
    model.specialize("znver4");
    return gflops(model, program, 1);
  };
  CHECK(onZen("k<9", "k<16") == 1);
  CHECK(onZen("k<16", "k<16") == 2);
  CHECK(onZen("k<16", "k>1") == 2);
}

TEST_CASE("an axis from the end is compared with what is written alike") {
  Program program("(%x: Tensor[(2, 3, 4), float32]) { nn.softmax(%x, axis=-1) }");
  auto of = [&](const char *first, const char *second) {
    return gflops(costs(std::string(R"("rows": [{"op": "nn.softmax", "class": ")") + first +
                        R"(", "gflops": 1}, {"op": "nn.softmax", "class": ")" + second +
                        R"(", "gflops": 2}])"),
                  program);
  };
  CHECK(of("axis=-1", "axis=-1|1") == 1);
  CHECK(of("axis=-1", "axis!=0") == 2);
  CHECK(of("axis!=0|1", "axis!=0") == 1);
  CHECK(of("axis>=0", "axis>=-1") == 2);
}

TEST_CASE("rows for a number of threads") {
  Program program(products);
  CostModel model = costs(R"("rows": [{"op": "nn.dense", "threads": 1, "gflops": 1},
    {"op": "nn.dense", "threads": 4, "gflops": 4}, {"op": "nn.dense", "gflops": 2}])");
  CHECK(gflops(model, program, 1) == 1);
  model.threads = 4;
  CHECK(gflops(model, program, 1) == 4);
  model.threads = 8;
  CHECK(gflops(model, program, 1) == 2);
}

TEST_CASE("the dtype of a row") {
  Program program(R"((%x: Tensor[(4), int8], %y: Tensor[(2), float32]) {
    %0 = cast(%x, dtype="float32");
    %1 = zeros(shape=[4], dtype="int8");
    %2 = concatenate((%0, %y));
    (%0, %1, %2)
  })");
  CostModel model = costs(
      R"("rows": [{"op": "*", "dtype": "int8", "gflops": 1}, {"op": "*", "dtype": "float32", "gflops": 2}])");
  CHECK(gflops(model, program, 0) == 1); // of the argument
  CHECK(gflops(model, program, 1) == 1); // there is none
  CHECK(gflops(model, program, 2) == 2); // a tuple
}

TEST_CASE("costs of some CPUs") {
  Program program(R"((%x: Tensor[(4), float32]) {
    %0 = abs(%x);
    %1 = nn.relu(%x);
    (%0, %1)
  })");
  auto vendor = readVendorFile(R"j({"vendor": "v", "cost": {
      "launch_us": 7, "trust": 2, "ops": {"abs": {"gflops": 1}, "nn.relu": {"gflops": 2}},
      "cpus": {"znver4, znver5": {"ops": {"abs": {"gflops": 3}}, "trust": 1}, "znver5": {"launch_us": 8}}}})j",
                               "v.json")
                    .takeValue();
  auto on = [&](const char *cpu) {
    CostModel model = *vendor->cost;
    model.specialize(cpu);
    return model;
  };
  CHECK(gflops(on("x86-64"), program, 0) == 1);
  CHECK(on("x86-64").trust == 2);
  // What is not said for the CPU is as for all.
  CHECK(gflops(on("znver4"), program, 0) == 3);
  CHECK(gflops(on("znver4"), program, 1) == 2);
  CHECK(on("znver4").trust == 1);
  CHECK(on("znver4").launchMicroseconds == 7);
  CHECK(gflops(on("znver5"), program, 0) == 3);
  CHECK(on("znver5").launchMicroseconds == 8);

  // A user's file speaks of every CPU.
  RuleSet rules = readRules(R"j({"vendors": [{"name": "v", "builtin": true, "cost": {
      "ops": {"abs": {"gflops": 5}}, "launch_us": 9, "cpus": {"znver4": {"ops": {"nn.relu": {"gflops": 6}}}}}}]})j",
                            "r")
                      .takeValue();
  REQUIRE(rules.vendors[0].more.applyTo(*vendor));
  for (const char *cpu : {"x86-64", "znver4", "znver5"}) {
    CHECK(gflops(on(cpu), program, 0) == 5);
    CHECK(on(cpu).launchMicroseconds == 9);
  }
  CHECK(gflops(on("znver4"), program, 1) == 6);
  CHECK(gflops(on("znver5"), program, 1) == 2);
}

TEST_CASE("trust, and memory of a vendor's own") {
  CHECK_FALSE(costs("").givenTrust());
  CHECK(costs("\"trust\": 1.5").givenTrust() == 1.5);
  CHECK(costs("\"measured\": true").givenTrust() == 1);
  CHECK(costs("\"measured\": true, \"trust\": 2").givenTrust() == 2);
  CHECK_FALSE(costs("\"measured\": false").givenTrust());

  auto own = readVendorFile(R"({"vendor": "v", "own_memory": true})", "v.json").takeValue();
  CHECK(own->hasOwnMemory());
  CHECK_FALSE(own->hasTimes());
  auto plain = readVendorFile(R"({"vendor": "v", "cost": {}})", "v.json").takeValue();
  CHECK_FALSE(plain->hasOwnMemory());
  CHECK(plain->hasTimes());

  // A vendor with code says it itself; its file may repeat it.
  bycc_vendor_compiler compiler{};
  compiler.size = sizeof compiler;
  compiler.name = "v";
  compiler.flags = BYCC_VENDOR_OWN_MEMORY;
  compiler.patterns = R"({"vendor": "v", "own_memory": true})";
  auto coded = Vendor::fromCompiler(&compiler).takeValue();
  CHECK(coded->hasOwnMemory());
  CHECK(coded->hasTimes()); // it may offer some
  compiler.patterns = R"({"vendor": "v", "own_memory": false})";
  CHECK(Vendor::fromCompiler(&compiler).takeError().str().find(
            "/own_memory: v has memory of its own") != std::string::npos);
  compiler.flags = 0;
  compiler.patterns = R"({"vendor": "v", "own_memory": true})";
  CHECK(Vendor::fromCompiler(&compiler).takeError().str().find(
            "/own_memory: v has no memory of its own") != std::string::npos);
}
