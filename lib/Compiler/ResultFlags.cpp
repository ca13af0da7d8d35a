#include "ResultFlags.h"

#include "bycc/Compiler/Placement.h"
#include "bycc/Support/File.h"

namespace bycc {
namespace {

// Programs of pipe{} by their names: what a build in another folder writes is the same.
std::string withoutFolders(std::string passes) {
  constexpr std::string_view begin = "pipe{", key = "program=";
  for (size_t at = 0; (at = passes.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    if (passes.compare(at, key.size(), key) == 0)
      at += key.size();
    size_t end = passes.find_first_of(",;}", at);
    if (end == std::string::npos)
      break;
    passes.replace(at, end - at, fileNameOf(passes.substr(at, end - at)));
  }
  return passes;
}

// As the vendors have them, so that one value has one spelling.
std::vector<std::string> vendorFlags(const VendorSet &vendors) {
  std::vector<std::string> flags;
  for (size_t i = 0; i < vendors.size(); ++i)
    for (const VendorSettings::Option &option : vendors[i].settings.options())
      if (option.isGiven)
        flags.push_back("--vendor-option=" + vendors[i].name() + "." + option.name + "=" +
                        (option.isPath ? fileNameOf(option.value) : option.value));
  return flags;
}

} // namespace

std::vector<std::string> resultFlags(const CompileOptions &options, const Extensions &extensions,
                                     const std::vector<Extensions::Pass> &ownPasses,
                                     const VendorSet &vendors) {
  std::vector<std::string> flags = {"-O" + std::to_string(options.passes.level)};
  if (options.passes.passes)
    flags.push_back("--passes=" + withoutFolders(*options.passes.passes));
  if (!options.passes.desiredLayout.empty())
    flags.push_back("--desired-layout=" + options.passes.desiredLayout);
  for (const std::string &pass : options.passes.disabled)
    flags.push_back("--disable-pass=" + pass);
  for (const std::string &pass : options.passes.required)
    flags.push_back("--require-pass=" + withoutFolders(pass));
  for (const auto &[pass, added] : options.passes.runBefore)
    flags.push_back("--run-before=" + pass + ":" + withoutFolders(added));
  for (const auto &[pass, added] : options.passes.runAfter)
    flags.push_back("--run-after=" + pass + ":" + withoutFolders(added));
  for (const Extensions::Pass &pass : ownPasses)
    if (!options.passes.passes && pass.info.level <= options.passes.level)
      flags.push_back(
          (pass.place.side == PassPlace::Side::Before ? "--run-before=" : "--run-after=") +
          pass.place.pass + ":" + pass.info.name);
  if (options.target.precision != "f32")
    flags.push_back("--precision=" + options.target.precision);
  if (!options.target.precisionRules.empty())
    flags.push_back("--precision-rules=" + fileNameOf(options.target.precisionRules));
  if (options.target.nan != "keep")
    flags.push_back("--nan=" + options.target.nan);
  if (options.vendors.annotate)
    flags.push_back("--annotate=" + *options.vendors.annotate);
  for (std::string &flag : vendorFlags(vendors))
    flags.push_back(std::move(flag));
  for (const std::string &rules : options.vendors.rules)
    flags.push_back("--rules=" + fileNameOf(rules));
  for (const std::string &patterns : options.vendors.patterns)
    flags.push_back("--patterns=" + fileNameOf(patterns));
  for (const Extensions::VendorText &patterns : extensions.patterns)
    flags.push_back("--patterns=" + fileNameOf(patterns.name));
  if (!options.vendors.tune.empty())
    flags.push_back("--tune");
  for (std::string &flag : placementFlags(options.vendors))
    flags.push_back(std::move(flag));
  for (const auto &[name, shape] : options.input.shapes)
    flags.push_back("--shape=" + name + "=" + shape);
  for (const auto &[name, dim] : options.input.dims)
    flags.push_back("--dim=" + name + "=" + dim);
  for (const auto &[name, extent] : options.input.likely)
    flags.push_back("--likely=" + name + "=" + std::to_string(extent));
  if (options.code.embedWeights)
    flags.push_back("--embed-weights");
  if (options.code.hostFallback)
    flags.push_back("--host-fallback");
  if (!options.code.schedules.empty())
    flags.push_back("--schedules=" + fileNameOf(options.code.schedules));
  if (options.code.threads)
    flags.push_back("--threads=" + std::to_string(options.code.threads));
  return flags;
}

} // namespace bycc
