// What a unit takes: rows of operators and composites, what a vendor offers, vendors
// without costs.

#include "../../../lib/Partition/CostEstimate.h"

#include "bycc/IR/Op.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

// dense (1,024 FLOPs, 768 B of operands), relu, with the vendor's composites formed.
struct Program {
  Module module;
  VendorSet vendors;
  TargetInfo target;
  PassContext context;

  explicit Program(std::unique_ptr<Vendor> vendor) {
    module = parseRelay(R"(#[version = "0.0.5"]
def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  nn.relu(%0)
})",
                        "t.relay")
                 .takeValue();
    vendors.add(std::move(vendor));
    context.target = &target;
    context.vendors = &vendors;
    REQUIRE(mergeComposite(module, context));
  }
  // The calls that are left, in order.
  std::vector<NodeId> units() const {
    std::vector<NodeId> units;
    for (NodeId node : module.block(module.function(module.main()).body).nodes)
      if (NodeKind kind = module.node(node).kind;
          kind == NodeKind::Call || kind == NodeKind::CallOp)
        units.push_back(node);
    return units;
  }
};

constexpr const char *pattern =
    R"j("patterns": [{"name": "v.dense_relu", "root": "nn.relu(nn.dense(*, *))"}])j";

std::string file(const std::string &members) { return "{\"vendor\": \"v\", " + members + "}"; }

std::unique_ptr<Vendor> vendorOf(const std::string &members) {
  auto vendor = readVendorFile(file(members), "v.json");
  if (!vendor)
    FAIL(vendor.error().str());
  return vendor.takeValue();
}

// Of the composite, with these members of `cost`.
double compositeTime(const std::string &cost, int32_t threads = 0) {
  Program program(vendorOf(std::string(pattern) + ", \"cost\": {" + cost + "}"));
  REQUIRE(program.units().size() == 1);
  program.target.threads = threads;
  return VendorTimes(program.module, program.vendors[0], program.target, {}).of(program.units()[0]);
}

} // namespace

TEST_CASE("bytes of types") {
  Module module;
  TypeId tensor = module.types.tensor(DType::Float32, {Dim(2), Dim(3)});
  TypeId open = module.types.tensor(DType::Int8, {Dim::unknown(), Dim(5)});
  TypeId pair[] = {tensor, open};
  TypeId nested[] = {module.types.tuple(pair), tensor};
  CHECK(bytesOf(module, tensor) == 24);
  CHECK(bytesOf(module, open) == 64 * 5);
  CHECK(bytesOf(module, module.types.tuple(nested)) == 48 + 64 * 5);
  CHECK(bytesOf(module, module.types.incomplete()) == 0);
}

TEST_CASE("an operator takes the larger of arithmetic and traffic, or what a row says") {
  Program program(vendorOf("\"ops\": {}"));
  auto time = [&](const std::string &cost, size_t unit = 0) {
    return unitMicroseconds(program.module, program.units().at(unit),
                            *vendorOf("\"cost\": {" + cost + "}")->cost);
  };
  CHECK(time("") == 0);
  CHECK(time("\"gflops\": 0.001") == 1024);
  CHECK(time("\"gb_per_s\": 0.001") == 768);
  CHECK(time("\"gflops\": 0.001, \"gb_per_s\": 0.001") == 1024);
  CHECK(time("\"gflops\": 0.004, \"gb_per_s\": 0.001") == 768);
  CHECK(
      time(
          R"("gflops": 0.001, "gb_per_s": 0.001, "rows": [{"op": "nn.dense", "class": "rows=8", "us": 3}])") ==
      3);
  CHECK(time(R"("gflops": 0.001, "rows": [{"op": "nn.dense", "gflops": 0.002}])") == 512);
  CHECK(time(R"("gflops": 0.001, "rows": [{"op": "nn.dense", "gflops": 0}])") == 0);
  CHECK(time(R"("gflops": 0.001, "rows": [{"op": "nn.dense", "us": 3}])", 1) == 64);
}

TEST_CASE("a composite takes what its row says, else what its operators do") {
  // Arithmetic 1024 + 64, border 768.
  CHECK(compositeTime("\"gflops\": 0.001") == 1088);
  CHECK(compositeTime("\"gb_per_s\": 0.001") == 768);
  // Traffic has the rate of the heaviest operator.
  CHECK(
      compositeTime(
          R"("rows": [{"op": "nn.dense", "gb_per_s": 0.001}, {"op": "nn.relu", "gb_per_s": 0.0001}])") ==
      768);
  CHECK(
      compositeTime(
          R"("rows": [{"op": "nn.dense", "class": "k=8", "gflops": 0.002}, {"op": "nn.relu", "gflops": 0.001}])") ==
      576);
  CHECK(
      compositeTime(
          R"("gb_per_s": 0.001, "rows": [{"op": "nn.dense", "us": 5}, {"op": "nn.relu", "us": 2}])") ==
      7);
  // One of its own.
  std::string operators = R"({"op": "nn.dense", "us": 5})";
  CHECK(compositeTime("\"rows\": [" + operators +
                      R"(, {"composite": "v.dense_relu", "gflops": 0.002}])") == 544);
  CHECK(compositeTime("\"gb_per_s\": 0.001, \"rows\": [" + operators +
                      R"(, {"composite": "v.dense_relu", "gflops": 0.002}])") == 768);
  CHECK(compositeTime("\"gb_per_s\": 0.001, \"rows\": [" + operators +
                      R"(, {"composite": "v.dense_relu", "us": 4}])") == 4);
  CHECK(
      compositeTime(
          R"("rows": [{"composite": "v.dense_relu", "us": 4}, {"composite": "v.dense_relu", "class": "k=8, rows=8", "dtype": "float32", "us": 3}])") ==
      3);
  CHECK(compositeTime("\"rows\": [" + operators +
                      R"(, {"composite": "v.dense_relu", "class": "k=9", "us": 4}])") == 5);
  // For the threads that code is compiled for.
  std::string threads =
      R"("rows": [{"composite": "v.dense_relu", "threads": 4, "us": 1}, {"composite": "v.dense_relu", "us": 2}])";
  CHECK(compositeTime(threads) == 2);
  CHECK(compositeTime(threads, 4) == 1);
}

TEST_CASE("times of a vendor without costs") {
  std::unique_ptr<Vendor> host = vendorOf(R"("cost": {"launch_us": 10, "gflops": 0.001})");
  // Offers for nn.relu alone.
  bycc_vendor_compiler compiler{};
  compiler.size = sizeof compiler;
  compiler.name = "v";
  compiler.supports = [](void *, const bycc_target *, const bycc_region *region,
                         bycc_answer *answer) {
    if (std::string_view(bycc_node_at(region, 0)->op) == "nn.relu")
      answer->offer(answer, "quick", 2.5);
    return 1;
  };
  for (bool hasCost : {false, true}) {
    std::string text =
        file(hasCost ? R"("cost": {"launch_us": 7, "gflops": 0.002})" : "\"ops\": {}");
    compiler.patterns = text.c_str();
    Program program(Vendor::fromCompiler(&compiler).takeValue());
    VendorTimes times(program.module, program.vendors[0], program.target, *host->cost);
    CHECK(times.of(program.units()[0]) == (hasCost ? 512 : 1034));
    CHECK(times.of(program.units()[1]) == 2.5);
  }
  // Another's composite is taken apart.
  Program program(vendorOf(pattern));
  VendorSet others;
  others.add(std::make_unique<Vendor>("w"));
  VendorTimes times(program.module, others[0], program.target, *host->cost);
  CHECK(times.of(program.units()[0]) == 1024 + 64 + 2 * 10);
}
