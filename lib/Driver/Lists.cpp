// --list-passes, --list-vendors; operators are in ListOps.cpp.

#include "Terminal.h"
#include "bycc/Compiler/Pipeline.h"
#include "bycc/Compiler/TextPass.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/Json.h"
#include "bycc/Target/VendorRegistry.h"

#include <cstdio>

namespace bycc {
namespace {

void printText(const std::string &text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// The lowest level whose list has the pass, if one has.
std::string levelText(int level) { return level > 3 ? "-  " : "-O" + std::to_string(level); }

} // namespace

std::vector<std::string> passNames() {
  PassRegistry registry;
  registerAllPasses(registry);
  std::vector<std::string> names;
  for (const PassInfo *pass : registry.all())
    names.push_back(pass->name);
  return names;
}

int listPasses(const Options &options) {
  PassRegistry registry;
  registerAllPasses(registry);
  auto own = passesOfPlugins(options.vendors.plugins, registry);
  if (!own) {
    std::fprintf(stderr, "%s\n", own.error().str().c_str());
    return exitCode(own.error().status());
  }
  for (Extensions::Pass &pass : *own)
    registry.add(std::move(pass.info));
  JsonWriter json;
  json.beginArray();
  for (const PassInfo *pass : registry.all()) {
    if (!options.json) {
      std::printf("%-28s %s  %s\n", pass->name.c_str(), levelText(pass->level).c_str(),
                  pass->description.c_str());
      continue;
    }
    json.beginObject().key("name").value(pass->name).key("level").value(pass->level);
    json.key("description").value(pass->description);
    for (auto [key, list] :
         {std::pair("needs", &pass->needs), {"makes", &pass->makes}, {"options", &pass->options}}) {
      json.key(key).beginArray();
      for (const std::string &item : *list)
        json.value(item);
      json.endArray();
    }
    json.endObject();
  }
  json.endArray();
  if (options.json)
    printText(json.take());
  return 0;
}

namespace {

Expected<std::vector<VendorDescription>> describeVendors(const Options &options) {
  Terminal terminal(options);
  VendorRequest request;
  request.ruleFiles = options.vendors.rules;
  return BYCC_TRY(terminal.knownVendors()).describe(request);
}

void printVendor(const VendorDescription &vendor) {
  std::string version = vendor.version.empty() ? "-" : vendor.version;
  if (!vendor.library.empty())
    version += " (" + vendor.library + ")";
  std::printf("%-16s %-18s %-9s %3zu patterns%s%s\n", vendor.name.c_str(), version.c_str(),
              vendor.kind.c_str(), vendor.numPatterns, vendor.origin.empty() ? "" : "  ",
              vendor.origin.c_str());
  for (const VendorSettings::Option &option : vendor.options)
    std::printf("    --vendor-option %s.%s=%s (%s)  %s\n", vendor.name.c_str(), option.name.c_str(),
                option.defaultValue.c_str(), option.type().c_str(), option.help.c_str());
}

} // namespace

int listVendors(const Options &options) {
  auto vendors = describeVendors(options);
  if (!vendors) {
    std::fprintf(stderr, "%s\n", vendors.error().str().c_str());
    return exitCode(vendors.error().status());
  }
  JsonWriter json;
  json.beginArray();
  for (const VendorDescription &vendor : *vendors) {
    if (!options.json) {
      printVendor(vendor);
      continue;
    }
    json.beginObject().key("name").value(vendor.name).key("version").value(vendor.version);
    json.key("kind").value(vendor.kind).key("origin").value(vendor.origin);
    json.key("library").value(vendor.library);
    json.key("patterns").value(static_cast<int64_t>(vendor.numPatterns));
    json.key("options").beginArray();
    for (const VendorSettings::Option &option : vendor.options)
      json.beginObject()
          .key("name")
          .value(option.name)
          .key("type")
          .value(option.type())
          .key("default")
          .value(option.defaultValue)
          .key("help")
          .value(option.help)
          .endObject();
    json.endArray().endObject();
  }
  json.endArray();
  if (options.json)
    printText(json.take());
  return 0;
}

} // namespace bycc
