#include "../../../lib/View/ViewTree.h"

#include <catch2/catch.hpp>

#include <string>

using namespace bycc;

namespace {

using Child = ViewTree::Child;
using Group = ViewTree::Group;

// A document of operators on one tensor type.
class Maker {
public:
  Maker() {
    document.inputs = {{"x", "Tensor[(4,), float32]"}};
    document.outputs = {{"y", "Tensor[(4,), float32]"}};
    document.graph.types = {{"Tensor[(4,), float32]", 16}};
  }
  // Reads rows, -1 the input.
  int add(const std::string &op, std::vector<int> reads, const std::string &region = "",
          const std::string &composite = "") {
    OffloadNode node;
    node.name = "n" + std::to_string(document.report.nodes.size());
    node.op = op;
    node.placed = region.empty() ? "host" : "va";
    node.region = region;
    node.composite = composite;
    bool isSame = !composite.empty() && !document.report.nodes.empty() &&
                  document.report.nodes.back().composite == composite && !endsUnit_;
    unit_ += !isSame;
    endsUnit_ = false;
    node.unit = unit_;
    if (!region.empty() &&
        (document.report.functions.empty() || document.report.functions.back().symbol != region)) {
      document.report.functions.emplace_back();
      document.report.functions.back().symbol = region;
      document.report.functions.back().compiler = "va";
    }
    document.report.nodes.push_back(node);
    OperatorGraph::Row row;
    for (int read : reads)
      row.inputs.push_back({read < 0 ? OperatorInput::Kind::Input : OperatorInput::Kind::Operator,
                            static_cast<uint32_t>(std::max(read, 0)), 0});
    document.graph.rows.push_back(row);
    int number = static_cast<int>(document.report.nodes.size()) - 1;
    document.graph.outputs = {{{OperatorInput::Kind::Operator, static_cast<uint32_t>(number), 0}}};
    return number;
  }
  void endUnit() { endsUnit_ = true; }

  ViewDocument document;

private:
  uint32_t unit_ = 0;
  bool endsUnit_ = false;
};

// "in(a [b c+d] x3[e] out)": units by operator, + within one, regions in [], repeats in x3[].
std::string textOf(const ViewDocument &document, const ViewTree &tree, uint32_t group = 0) {
  std::string text;
  for (const Child &child : tree.groups[group].children) {
    text += text.empty() ? "" : " ";
    if (child.kind == Child::Kind::Input)
      text += "in";
    else if (child.kind == Child::Kind::Output)
      text += "out";
    else if (child.kind == Child::Kind::Unit)
      for (uint32_t i = 0; i < tree.units[child.index].rows; ++i)
        text += (i ? "+" : "") + document.report.nodes[tree.units[child.index].firstRow + i].op;
    else if (tree.groups[child.index].kind == Group::Kind::Repeat)
      text += "x" + std::to_string(tree.groups[child.index].turns) + "[" +
              textOf(document, tree, child.index) + "]";
    else
      text += "[" + textOf(document, tree, child.index) + "]";
  }
  return text;
}

std::string edgesOf(const Group &group) {
  std::string text;
  for (const ViewTree::Edge &edge : group.edges)
    text += (text.empty() ? "" : " ") + std::to_string(edge.from) + ">" + std::to_string(edge.to) +
            ":" + std::to_string(edge.bytes) + (edge.crosses ? "!" : "");
  return text;
}

} // namespace

TEST_CASE("regions are boxes, composites one unit", "[View]") {
  Maker maker;
  int a = maker.add("abs", {-1});
  int b = maker.add("add", {a, a}, "r0", "va.add_relu");
  int c = maker.add("nn.relu", {b}, "r0", "va.add_relu");
  int d = maker.add("exp", {c}, "r0");
  maker.add("sin", {d, a});
  ViewTree tree = makeViewTree(maker.document);
  CHECK(textOf(maker.document, tree) == "in abs [add+nn.relu exp] sin out");
  // One tensor that goes twice to one box counts once.
  CHECK(edgesOf(tree.groups[0]) == "0>1:16 1>2:16! 1>3:16 2>3:16! 3>4:16");
  CHECK(edgesOf(tree.groups[1]) == "0>1:16");
  CHECK(tree.groups[1].children[0].readsOutside);
  CHECK(!tree.groups[1].children[0].isReadOutside);
  CHECK(tree.groups[1].children[1].isReadOutside);
  CHECK(unitTitle(maker.document, tree.units[1]) == "add_relu");
}

TEST_CASE("composites of one name side by side are two", "[View]") {
  Maker maker;
  int a = maker.add("add", {-1, -1}, "r0", "va.add_relu");
  int b = maker.add("nn.relu", {a}, "r0", "va.add_relu");
  maker.endUnit();
  int c = maker.add("add", {b, b}, "r0", "va.add_relu");
  maker.add("nn.relu", {c}, "r0", "va.add_relu");
  ViewTree tree = makeViewTree(maker.document);
  CHECK(textOf(maker.document, tree) == "in [add+nn.relu add+nn.relu] out");
}

TEST_CASE("layers with regions in them come once", "[View]") {
  Maker maker;
  int last = maker.add("take", {-1});
  for (int layer = 0; layer < 5; ++layer) {
    std::string region = "r" + std::to_string(layer);
    int a = maker.add("dense", {last}, region), b = maker.add("gelu", {a}, region);
    int c = maker.add("softmax", {b});
    last = maker.add("add", {c, last});
  }
  maker.add("sum", {last});
  ViewTree tree = makeViewTree(maker.document);
  CHECK(textOf(maker.document, tree) == "in take x5[[dense gelu] softmax add] sum out");
  const Group &repeat = tree.groups[1];
  CHECK(repeat.turns == 5);
  CHECK(repeat.rows == 4);
  CHECK(edgesOf(tree.groups[0]) == "0>1:16 1>2:16! 2>3:16 3>4:16");
  CHECK(edgesOf(repeat) == "0>1:16! 1>2:16");
  // Row 10 is gelu of layer 2.
  CHECK(maker.document.report.nodes[10].op == "gelu");
  CHECK(tree.drawn(10) == 2);
  CHECK(tree.turnOf[10].turn == 2);
  CHECK(tree.turnOf[10].group == 1);
  CHECK(tree.drawn(2) == 2);
}

TEST_CASE("what comes once does not keep its layer from being one of them", "[View]") {
  Maker maker;
  int last = maker.add("take", {-1}), mask = -1;
  for (int layer = 0; layer < 4; ++layer) {
    int a = maker.add("dense", {last});
    if (layer == 0)
      mask = maker.add("cast", {-1});
    int b = maker.add("where", {a, mask});
    last = maker.add("softmax", {b});
  }
  ViewTree tree = makeViewTree(maker.document);
  CHECK(textOf(maker.document, tree) == "in take cast x4[dense where softmax] out");
  CHECK(edgesOf(tree.groups[0]) == "0>1:16 0>2:16 1>3:16 2>3:16 3>4:16");
}

TEST_CASE("other reasons are other layers, other numbers in them are not", "[View]") {
  auto document = [](auto reason) {
    Maker maker;
    int last = -1;
    for (int layer = 0; layer < 6; ++layer)
      for (const char *op : {"dense", "gelu"}) {
        last = maker.add(op, {last});
        maker.document.report.nodes.back().refused = {{"va", reason(layer)}};
      }
    return maker.document;
  };
  ViewDocument same =
      document([](int layer) { return "costs " + std::to_string(layer) + ".5 us"; });
  CHECK(textOf(same, makeViewTree(same)) == "in x6[dense gelu] out");
  ViewDocument other = document([](int layer) { return layer < 3 ? "no gelu" : "too small"; });
  CHECK(textOf(other, makeViewTree(other)) == "in x3[dense gelu] x3[dense gelu] out");
}

TEST_CASE("kinds of reasons keep names and lose numbers", "[View]") {
  CHECK(reasonKind("cast from int32 to float32 is not supported") ==
        "cast from int32 to float32 is not supported");
  CHECK(reasonKind("moving it would cost 12.3 us more") == "moving it would cost \u2026 us more");
  CHECK(reasonKind("dilation (2, 2) of nn.conv2d.") == "dilation (\u2026, \u2026) of nn.conv2d.");
}

TEST_CASE("a loop's edge back has no say", "[View]") {
  Maker maker;
  maker.add("add", {-1, 1});
  maker.add("abs", {0});
  ViewTree tree = makeViewTree(maker.document);
  CHECK(textOf(maker.document, tree) == "in add abs out");
  CHECK(tree.groups[0].layout.layer[1] < tree.groups[0].layout.layer[2]);
}

TEST_CASE("a trace is of rows by names, commas in them or not", "[View]") {
  Maker maker;
  maker.add("abs", {-1});
  maker.add("sin", {0});
  maker.document.report.nodes[1].name = "a,b";
  auto trace = [](const std::string &source) {
    return R"({"traceEvents": [{"ph": "M"}, {"ph": "X", "name": "k", "cat": "node", "dur": 2.5,
               "args": {"source": ")" +
           source + R"("}}]})";
  };
  REQUIRE(addProfile(maker.document, trace("a,b,n0"), "t.json"));
  REQUIRE(maker.document.timings.size() == 1);
  CHECK(maker.document.timings[0].rows == std::vector<uint32_t>{0, 1});
  CHECK(maker.document.timings[0].us == 2.5);
  auto other = addProfile(maker.document, trace("c"), "t.json");
  REQUIRE(!other);
  CHECK(other.error().str().find("another model") != std::string::npos);
}

TEST_CASE("nothing in the data ends the page's script", "[View]") {
  Maker maker;
  maker.add("abs", {-1});
  maker.document.title = "<b>@DATA@</b>";
  maker.document.report.nodes[0].name = "</script><script>alert(1)</script><!--";
  std::string page = viewPage(maker.document);
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("<b>@") == std::string::npos);
  CHECK(page.find("\\u003c/script>\\u003cscript>alert(1)") != std::string::npos);
}
