// Regions written as brackets on edges:
//
//   %0 = annotation.compiler_begin(%x, compiler="v");
//   %1 = nn.relu(%0);                                    nn.relu: region of v
//   %2 = annotation.compiler_end(%1, compiler="v");
//
// A value is open when it comes from a begin and no end has been passed. An
// operator with open operands joins their region, and regions that meet become
// one; operands beside them must be constants or calls without operands. What is
// open may go nowhere else: into a result, an if, a call, another block.
// The vendor `default` is the host: such nodes are pinned there.
//
// A vendor is asked about all it is given, once composites are formed. What it does
// not take is an error: the program says that it should. Where the program is
// trusted (--hand-annotations=trust) nobody is asked.

#include "ReadAnnotations.h"

#include "RegionTable.h"
#include "Scopes.h"
#include "UnitOrder.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include <algorithm>

namespace bycc {

namespace {

constexpr std::string_view hostName = "default";

std::vector<NodeId> bracketsOf(const Module &module) {
  std::vector<NodeId> found;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (isCallWith(module, node, OpTrait::Bracket))
        found.push_back(node);
    });
  return found;
}

class BracketReader {
public:
  BracketReader(Module &module, PassContext &context)
      : module_(module), context_(context), open_(module.numNodes(), none),
        inner_(module.numNodes()) {}

  Expected<> read(BlockId block) {
    for (NodeId node : module_.block(block).nodes)
      BYCC_TRY(read(node, block));
    if (NodeId result = module_.block(block).result; openRegion(result) != none)
      return notClosed(openRegion(result), result, "it reaches the result");
    return {};
  }

  // Takes the brackets out and annotates what stood between them.
  void apply(const std::vector<BlockId> &blocks) {
    for (BlockId block : blocks)
      for (NodeId node : module_.block(block).nodes)
        if (uint32_t at = openRegion(node); at != none)
          regions_[at].isLost |= mayNotHave(context_, node, regions_[at].vendor);
    for (BlockId block : blocks) {
      std::vector<NodeId> &nodes = module_.block(block).nodes;
      std::erase_if(nodes,
                    [&](NodeId node) { return isCallWith(module_, node, OpTrait::Bracket); });
      for (NodeId node : nodes) {
        for (NodeId &operand : module_.mutableOperands(node))
          operand = unwrapped(operand);
        annotate(node);
      }
      module_.block(block).result = unwrapped(module_.block(block).result);
    }
  }

private:
  struct Region {
    std::string vendor;
    NodeId begin;
    BlockId block;
    uint32_t parent;
    int32_t number = -1;
    bool isLost = false; // the vendor may not have some node of it
  };

  std::string vendorOf(NodeId bracket) const {
    return module_.attr(bracket, "compiler")->asString();
  }

  uint32_t find(uint32_t region) {
    while (regions_[region].parent != region)
      region = regions_[region].parent = regions_[regions_[region].parent].parent;
    return region;
  }
  uint32_t openRegion(NodeId value) {
    return open_[value.index] == none ? none : find(open_[value.index]);
  }

  // --- checks

  Expected<> read(NodeId node, BlockId block) {
    if (module_.isOp(node, ops::annotation_compiler_begin))
      return readBegin(node, block);
    if (module_.isOp(node, ops::annotation_compiler_end))
      return readEnd(node, block);
    NodeKind kind = module_.node(node).kind;
    bool mayJoin = kind == NodeKind::CallOp || kind == NodeKind::Tuple ||
                   kind == NodeKind::Project || compositeOf(module_, node);
    for (NodeId operand : module_.operands(node))
      if (uint32_t region = openRegion(operand); region != none) {
        if (regions_[region].block != block)
          return notClosed(region, node, "it reaches into another branch or function");
        if (!mayJoin)
          return notClosed(region, node, "it reaches " + article(kind));
        return join(node);
      }
    return {};
  }

  static std::string article(NodeKind kind) {
    return kind == NodeKind::If ? "the condition of an if" : "the call of a function";
  }

  Expected<> readBegin(NodeId node, BlockId block) {
    std::string vendor = vendorOf(node);
    if (vendor != hostName)
      BYCC_TRY(checkVendorInUse(context_, vendor, module_.source(node)));
    NodeId operand = module_.operands(node)[0];
    if (uint32_t region = openRegion(operand); region != none)
      return notClosed(region, node, "a region of '" + escaped(vendor) + "' begins on its value");
    open_[node.index] = static_cast<uint32_t>(regions_.size());
    regions_.push_back({std::move(vendor), node, block, open_[node.index], -1, false});
    inner_[node.index] = operand;
    return {};
  }

  Expected<> readEnd(NodeId node, BlockId block) {
    std::string vendor = vendorOf(node);
    NodeId operand = module_.operands(node)[0];
    uint32_t region = openRegion(operand);
    if (region == none)
      return error(Status::Input, module_.source(node)).as(MessageId::HandAnnotation)
             << "annotation.compiler_end: no annotation.compiler_begin of '" << escaped(vendor)
             << "' leads here";
    if (regions_[region].vendor != vendor)
      return twoVendors(node, "annotation.compiler_end", regions_[region].vendor, vendor, region);
    if (regions_[region].block != block)
      return notClosed(region, node, "it reaches into another branch or function");
    inner_[node.index] = operand;
    return {};
  }

  Expected<> join(NodeId node) {
    uint32_t mine = none;
    for (NodeId operand : module_.operands(node)) {
      uint32_t region = openRegion(operand);
      if (region == none)
        continue;
      if (mine != none && regions_[region].vendor != regions_[mine].vendor)
        return twoVendors(node, describe(module_, node), regions_[mine].vendor,
                          regions_[region].vendor, mine);
      if (mine != none)
        regions_[std::max(mine, region)].parent = std::min(mine, region);
      mine = mine == none ? region : std::min(mine, region);
    }
    open_[node.index] = mine;
    size_t index = 0;
    for (NodeId operand : module_.operands(node)) {
      if (openRegion(operand) == none && !mayStandBeside(operand))
        return withNote(error(Status::Input, module_.source(node)).as(MessageId::HandAnnotation)
                            << describe(module_, node) << ": operand " << index
                            << " is outside of the region of '" << escaped(regions_[mine].vendor)
                            << "' that the others are in",
                        mine)
            .note("give it an annotation.compiler_begin");
      ++index;
    }
    return {};
  }

  // Constants belong to whoever uses them, and so do zeros and ones.
  bool mayStandBeside(NodeId operand) const {
    const Node &node = module_.node(operand);
    return node.kind == NodeKind::Constant || node.kind == NodeKind::Function ||
           (node.kind == NodeKind::CallOp && module_.operands(operand).empty()) ||
           (node.kind == NodeKind::Tuple &&
            std::ranges::all_of(module_.operands(operand),
                                [&](NodeId field) { return mayStandBeside(field); }));
  }

  ErrorBuilder notClosed(uint32_t region, NodeId where, const std::string &how) const {
    const SourceLocation &place = module_.source(where);
    return error(Status::Input, module_.source(regions_[region].begin))
               .as(MessageId::HandAnnotation)
           << "annotation.compiler_begin: the region of '" << escaped(regions_[region].vendor)
           << "' is not closed: " << how << " at " << place.str();
  }

  ErrorBuilder twoVendors(NodeId node, const std::string &what, const std::string &first,
                          const std::string &second, uint32_t region) const {
    return withNote(error(Status::Input, module_.source(node)).as(MessageId::HandAnnotation)
                        << what << ": one region has two vendors, '" << escaped(first) << "' and '"
                        << escaped(second) << "'",
                    region);
  }

  ErrorBuilder withNote(ErrorBuilder builder, uint32_t region) const {
    return std::move(builder).note("the region of '" + escaped(regions_[region].vendor) +
                                   "' begins at " + module_.source(regions_[region].begin).str());
  }

  // --- result

  // Brackets follow each other: end, begin, end, ..
  NodeId unwrapped(NodeId value) const {
    while (value.index < inner_.size() && inner_[value.index])
      value = inner_[value.index];
    return value;
  }

  void annotate(NodeId node) {
    uint32_t at = openRegion(node);
    if (at == none || module_.node(node).kind == NodeKind::Tuple ||
        module_.node(node).kind == NodeKind::Project)
      return;
    Region &region = regions_[at];
    bool isHost = region.vendor == hostName;
    if (region.isLost) {
      // The vendor failed at it: what it may have of it is grouped anew, and asked
      // about, since what was taken as a composite may now be alone.
      if (!isHost && !context_.trustsHand)
        module_.node(node).source =
            module_.addAskedSource(module_.node(node).source, module_.intern(region.vendor));
      else if (!isHost && !context_.placement->whyNot(node, region.vendor))
        module_.setAnnotation(node, {{module_.intern(region.vendor)}, -1});
      return;
    }
    if (context_.placement)
      context_.placement->give(node, isHost ? "host" : region.vendor,
                               "annotated for '" + region.vendor + "' at " +
                                   module_.source(region.begin).str());
    if (isHost)
      return;
    if (context_.placement && !context_.trustsHand)
      context_.placement->mustAskGiven = true;
    if (region.number < 0)
      region.number = next_++;
    module_.setAnnotation(node, {{module_.intern(region.vendor)}, region.number});
  }

  Module &module_;
  PassContext &context_;
  std::vector<Region> regions_;
  std::vector<uint32_t> open_; // by node: region it is open in
  std::vector<NodeId> inner_;  // by node: what a bracket is around
  int32_t next_ = firstFreeRegion(module_);
};

// Regions may not need each other.
Expected<> checkOrder(const Module &module, const VendorSet &vendors, int32_t first) {
  RegionTable regions(module, vendors, first);
  BYCC_TRY(regions.collect());
  NodePlaces places(module);
  for (BlockId block : hostBlocks(module)) {
    UnitOrder order(module, places, regions, block);
    if (order.sort().empty() && !module.block(block).nodes.empty())
      return order.cycleError();
  }
  return {};
}

} // namespace

Expected<bool> readBrackets(Module &module, PassContext &context) {
  if (bracketsOf(module).empty())
    return false;
  dropUnneeded(module);
  NodePlaces places(module);
  for (NodeId bracket : bracketsOf(module))
    if (!places.block[bracket.index])
      return error(Status::Input, module.source(bracket))
             << describe(module, bracket)
             << ": a composite, a kernel or a vendor's function has no regions inside";
  std::vector<BlockId> blocks = hostBlocks(module);
  BracketReader reader(module, context);
  for (BlockId block : blocks)
    BYCC_TRY(reader.read(block));
  int32_t first = firstFreeRegion(module);
  reader.apply(blocks);
  if (context.vendors)
    BYCC_TRY(checkOrder(module, *context.vendors, first));
  return true;
}

} // namespace bycc
