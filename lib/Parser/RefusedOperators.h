// Operators of Relay that bycc does not read, by their first name, and why.
#pragma once

#include <string_view>
#include <utility>

namespace bycc {

// Empty: nothing is known about the operator.
inline std::string_view whyRefused(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> reasons[] = {
      {"memory.", "memory is planned by bycc itself"},
      {"random.", "random results are not supported"},
      {"vm.", "code for a virtual machine is not read"},
  };
  for (auto [prefix, reason] : reasons)
    if (op.starts_with(prefix))
      return reason;
  return {};
}

} // namespace bycc
