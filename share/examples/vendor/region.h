// Reading a bycc_region: attributes by name, shapes. A region is flat: values
// (tensors) by index, nodes in an order in which operands come first.
#pragma once

#include <bycc/vendor.h>

#include <cstring>
#include <string>
#include <vector>

namespace examplenpu {

// All attributes of an operator are there, defaults filled in, so a missing one is
// a mistake of this file's user.
inline const bycc_attr &attribute(const bycc_node &node, const char *name) {
  static const bycc_attr none = {};
  const bycc_attr *found = bycc_attr_named(node.attrs, node.num_attrs, name);
  return found ? *found : none;
}

inline int64_t integer(const bycc_node &node, const char *name) { return attribute(node, name).i; }

inline std::string text(const bycc_node &node, const char *name) {
  const bycc_attr &found = attribute(node, name);
  return found.s ? found.s : "";
}

inline std::vector<int64_t> integers(const bycc_node &node, const char *name) {
  const bycc_attr &list = attribute(node, name);
  std::vector<int64_t> result;
  for (uint32_t i = 0; i < list.count; ++i)
    result.push_back(bycc_item_at(&list, i)->i);
  return result;
}

inline bool isStatic(const bycc_value &value) {
  for (int32_t d = 0; d < value.rank; ++d)
    if (value.dims[d] < 0)
      return false;
  return true;
}

inline int64_t elements(const bycc_value &value) {
  int64_t count = 1;
  for (int32_t d = 0; d < value.rank; ++d)
    count *= value.dims[d];
  return count;
}

} // namespace examplenpu
