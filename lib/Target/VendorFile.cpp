// What files say about a vendor. An entry of a rules file and patterns/<vendor>.json
// have the same members; this is their one reader.

#include "bycc/IR/Op.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Layout.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/VendorRegistry.h"

#include "CostReader.h"

#include <algorithm>
#include <iterator>

namespace bycc {

std::vector<std::string> vendorMembers() {
  return {"allow_ops", "cost", "deny_ops",   "edges",  "layouts",  "min_flops", "merge_regions",
          "min_ops",   "ops",  "own_memory", "passes", "patterns", "rewrites"};
}

namespace {

class VendorReader {
public:
  VendorReader(const std::string &file, Vendor &vendor) : file_(file), vendor_(vendor) {}

  Expected<> read(const JsonValue &object, const std::string &pointer) {
    for (const auto &[key, value] : object.members)
      BYCC_TRY(readMember(key, value, pointerTo(pointer, key)));
    // Rewrites, edges and costs may name the patterns: last.
    if (const JsonValue *rewrites = object.find("rewrites"))
      BYCC_TRY(readVendorRewrites(*rewrites, pointerTo(pointer, "rewrites")));
    if (const JsonValue *edges = object.find("edges"))
      BYCC_TRY(readEdges(*edges, pointerTo(pointer, "edges")));
    if (const JsonValue *cost = object.find("cost"))
      BYCC_TRY(readVendorCost(*cost, pointerTo(pointer, "cost"), file_, vendor_));
    return {};
  }

private:
  Expected<> readMember(const std::string &key, const JsonValue &value,
                        const std::string &pointer) {
    if (key == "ops")
      return readOps(value, pointer);
    if (key == "patterns")
      return readVendorPatterns(value, pointer);
    if (key == "allow_ops")
      return readOpNames(value, pointer, vendor_.allowedOps);
    if (key == "deny_ops")
      return readOpNames(value, pointer, vendor_.deniedOps);
    if (key == "merge_regions")
      return readMerge(value, pointer);
    if (key == "min_ops")
      return readMinOps(value, pointer);
    if (key == "min_flops") {
      vendor_.regionRules.minFlops = BYCC_TRY(readAmount(value, pointer, file_));
      return {};
    }
    if (key == "layouts")
      return readLayouts(value, pointer);
    if (key == "own_memory")
      return readOwnMemory(value, pointer);
    if (key == "passes")
      return readPasses(value, pointer);
    return {};
  }

  Expected<> readVendorPatterns(const JsonValue &array, const std::string &pointer) {
    std::vector<Pattern> patterns =
        BYCC_TRY(readPatterns(array, vendor_.name(), pointer, file_, vendor_.patterns()));
    for (size_t i = 0; i < patterns.size() && vendor_.isEmulated(); ++i)
      if (patterns[i].isOpen())
        return jsonError(array.items[i], pointer + "/" + std::to_string(i) + "/name", file_)
               << "'" << patterns[i].name << "' is for a vendor whose code says the name";
    vendor_.addPatterns(std::move(patterns));
    return {};
  }

  Expected<> readVendorRewrites(const JsonValue &array, const std::string &pointer) {
    std::vector<Pattern> patterns = vendor_.patterns();
    size_t known = patterns.size();
    std::vector<Rewrite> rewrites =
        BYCC_TRY(readRewrites(array, vendor_.name(), pointer, file_, patterns));
    vendor_.addPatterns({std::make_move_iterator(patterns.begin() + static_cast<long>(known)),
                         std::make_move_iterator(patterns.end())});
    std::ranges::move(rewrites, std::back_inserter(vendor_.rewrites));
    return {};
  }

  Expected<> readOps(const JsonValue &ops, const std::string &pointer) {
    if (!ops.isObject())
      return jsonError(ops, pointer, file_) << "expected an object of operators and conditions";
    for (const auto &[op, condition] : ops.members) {
      std::string at = pointerTo(pointer, op);
      OpId id = BYCC_TRY(readOpName(op, condition, at, file_));
      vendor_.addRule(id, BYCC_TRY(readCondition(condition, id, at, file_)));
    }
    return {};
  }

  // Names of operators, or globs that fit at least one.
  Expected<> readOpNames(const JsonValue &array, const std::string &pointer,
                         std::vector<std::string> &names) {
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of operators";
    for (size_t i = 0; i < array.items.size(); ++i) {
      const JsonValue &item = array.items[i];
      std::string at = pointer + "/" + std::to_string(i);
      if (!item.isString())
        return jsonError(item, at, file_) << "expected the name of an operator";
      if (item.string.find_first_of("*?") == std::string::npos)
        BYCC_TRY(readOpName(item.string, item, at, file_));
      else if (std::ranges::none_of(allOpNames(), [&](const std::string &name) {
                 return matchesGlob(item.string, name);
               }))
        return jsonError(item, at, file_) << "'" << escaped(item.string) << "' fits no operator";
      names.push_back(item.string);
    }
    return {};
  }

  Expected<> readMerge(const JsonValue &value, const std::string &pointer) {
    if (!value.isBool())
      return jsonError(value, pointer, file_) << "expected true or false";
    vendor_.regionRules.merge = value.boolean;
    return {};
  }

  Expected<> readMinOps(const JsonValue &value, const std::string &pointer) {
    if (!value.isInt() || value.integer < 0)
      return jsonError(value, pointer, file_) << "expected a number of operators";
    vendor_.regionRules.minOps = value.integer;
    return {};
  }

  // Of a vendor with code its code is asked; a file may repeat it.
  Expected<> readOwnMemory(const JsonValue &value, const std::string &pointer) {
    if (!value.isBool())
      return jsonError(value, pointer, file_) << "expected true or false";
    if (!vendor_.isEmulated() && value.boolean != vendor_.hasOwnMemory())
      return jsonError(value, pointer, file_)
             << vendor_.name() << " has " << (value.boolean ? "no " : "") << "memory of its own";
    vendor_.ownMemory = value.boolean;
    return {};
  }

  // {"nn.conv2d": ["NHWC", "OHWI"], "nn.max_pool2d": ["NHWC"]}
  Expected<> readLayouts(const JsonValue &object, const std::string &pointer) {
    if (!object.isObject())
      return jsonError(object, pointer, file_) << "expected an object";
    for (const auto &[name, value] : object.members) {
      std::string at = pointerTo(pointer, name);
      OpId op = BYCC_TRY(readOpName(name, value, at, file_));
      bool hasKernel = opInfo(op).findAttr("kernel_layout");
      if (!hasKernel && !opInfo(op).findAttr("layout"))
        return jsonError(value, at, file_) << name << " has no layout";
      size_t most = hasKernel ? 2 : 1;
      if (!value.isArray() || value.items.empty() || value.items.size() > most)
        return jsonError(value, at, file_)
               << "expected an array of " << (hasKernel ? "one layout or two" : "one layout");
      for (const JsonValue &item : value.items)
        if (!item.isString() || !Layout::parse(item.string))
          return jsonError(item, at, file_) << "expected a layout such as NHWC";
      vendor_.layouts[op.index] = {value.items[0].string,
                                   value.items.size() > 1 ? value.items[1].string : ""};
    }
    return {};
  }

  // An array, or one text as --passes= takes it.
  Expected<> readPasses(const JsonValue &array, const std::string &pointer) {
    vendor_.passesPlace = location(array, file_);
    if (array.isString()) {
      vendor_.passes = array.string;
      return {};
    }
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of passes";
    std::vector<std::string> passes;
    for (size_t i = 0; i < array.items.size(); ++i) {
      const JsonValue &item = array.items[i];
      if (!item.isString() || item.string.empty())
        return jsonError(item, pointer + "/" + std::to_string(i), file_)
               << "expected the name of a pass";
      passes.push_back(item.string);
    }
    vendor_.passes = join(passes, ",");
    return {};
  }

  Expected<> readEdges(const JsonValue &object, const std::string &pointer) {
    BYCC_TRY(checkKeys(object, {"deny", "allow", "comment"}, pointer, file_));
    if (const JsonValue *deny = object.find("deny"))
      BYCC_TRY(readPairs(*deny, pointer + "/deny", vendor_.regionRules.edges.denied));
    if (const JsonValue *allow = object.find("allow"))
      BYCC_TRY(readPairs(*allow, pointer + "/allow", vendor_.regionRules.edges.allowed));
    return {};
  }

  Expected<> readPairs(const JsonValue &array, const std::string &pointer,
                       std::vector<std::pair<std::string, std::string>> &pairs) {
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of [from, to]";
    for (size_t i = 0; i < array.items.size(); ++i) {
      const JsonValue &pair = array.items[i];
      std::string at = pointer + "/" + std::to_string(i);
      if (!pair.isArray() || pair.items.size() != 2)
        return jsonError(pair, at, file_) << "expected [from, to]";
      for (size_t side = 0; side < 2; ++side)
        BYCC_TRY(checkEdgeEnd(pair.items[side], at + "/" + std::to_string(side)));
      pairs.emplace_back(pair.items[0].string, pair.items[1].string);
    }
    return {};
  }

  Expected<> checkEdgeEnd(const JsonValue &end, const std::string &pointer) {
    if (!end.isString())
      return jsonError(end, pointer, file_)
             << "expected the name of an operator or composite, or '*'";
    if (end.string == "*")
      return {};
    if (!end.string.starts_with(vendor_.name() + ".")) {
      BYCC_TRY(readOpName(end.string, end, pointer, file_));
      return {};
    }
    return checkComposite(end, pointer, file_, vendor_);
  }

  const std::string &file_;
  Vendor &vendor_;
};

} // namespace

Expected<> readVendorMembers(const JsonValue &object, const std::string &pointer,
                             const std::string &file, Vendor &vendor) {
  return VendorReader(file, vendor).read(object, pointer);
}

Expected<std::string> readVendorName(const JsonValue *name, const JsonValue &object,
                                     const std::string &pointer, const std::string &file) {
  if (!name || !name->isString() || name->string.empty())
    return jsonError(name ? *name : object, pointer, file) << "expected the vendor's name";
  if (name->string.find('.') != std::string::npos)
    return jsonError(*name, pointer, file) << "a vendor's name has no dot";
  auto isOdd = [](unsigned char c) { return c <= ' ' || c == ',' || c == '=' || c == 0x7f; };
  if (std::ranges::any_of(name->string, isOdd))
    return jsonError(*name, pointer, file) << "a vendor's name has no blanks, ',' and '='";
  if (name->string == "host")
    return jsonError(*name, pointer, file) << "'host' cannot be a vendor's name";
  return name->string;
}

Expected<VendorFile> VendorFile::parse(std::string_view text, const std::string &file) {
  JsonValue root = BYCC_TRY(parseJson(text, file));
  std::vector<std::string> known = vendorMembers();
  known.insert(known.end(), {"$schema", "schema", "vendor", "comment"});
  BYCC_TRY(checkKeys(root, known, "", file));
  const JsonValue *schema = root.find("schema");
  if (schema && !(schema->isInt() && schema->integer == 1))
    return jsonError(*schema, "/schema", file) << "expected 1";
  VendorFile result;
  result.vendor = BYCC_TRY(readVendorName(root.find("vendor"), root, "/vendor", file));
  result.root = std::move(root);
  result.file = file;
  return result;
}

Expected<> VendorFile::applyTo(Vendor &target) const {
  return readVendorMembers(root, pointer, file, target);
}

Expected<std::unique_ptr<Vendor>> readVendorFile(std::string_view text, const std::string &file) {
  VendorFile parsed = BYCC_TRY(VendorFile::parse(text, file));
  auto vendor = std::make_unique<Vendor>(parsed.vendor);
  BYCC_TRY(parsed.applyTo(*vendor));
  return vendor;
}

} // namespace bycc
