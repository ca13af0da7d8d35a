// See InstructionSet.h; the sets by name are those of the library's version (Version.h).
#include "InstructionSet.h"

#include "Version.h"

#include <algorithm>
#include <sstream>

namespace bycc::onednn {

namespace {

bool hasAll(std::string_view features, std::string_view wanted) {
  std::istringstream words{std::string(wanted)};
  for (std::string word; words >> word;)
    if (!hasFeature(features, word))
      return false;
  return true;
}

} // namespace

bool hasFeature(std::string_view features, std::string_view wanted) {
  while (!features.empty()) {
    size_t end = std::min(features.find_first_of(", "), features.size());
    if (features.substr(0, end) == wanted)
      return true;
    features.remove_prefix(std::min(end + 1, features.size()));
  }
  return false;
}

std::string instructionSet() {
  dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  for (const InstructionSet &set : instructionSets())
    if (set.isa == isa)
      return set.name;
  return "isa" + std::to_string(static_cast<int>(isa));
}

bool libraryHas(std::string_view feature) {
  dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  for (const InstructionSet &set : instructionSets())
    if (set.isa == isa)
      return hasFeature(set.features, feature);
  return true;
}

bool limitInstructionSet(std::string_view features) {
  const InstructionSet *best = &instructionSets().front();
  for (const InstructionSet &set : instructionSets())
    if (hasAll(features, set.features))
      best = &set;
  dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(best->isa)); // too late: seen below
  return dnnl::get_effective_cpu_isa() == best->isa;
}

} // namespace bycc::onednn
