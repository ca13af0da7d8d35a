// Text of a place in the user's input. Names come from untrusted files and are
// escaped.
#include "bycc/Support/SourceLocation.h"

#include "bycc/Support/Text.h"

namespace bycc {

std::string SourceLocation::str() const {
  std::string text = escaped(file, 1024);
  if (line > 0) {
    text += ':' + std::to_string(line);
    if (column > 0)
      text += ':' + std::to_string(column);
  }
  if (node.empty())
    return text;
  if (!text.empty())
    text += ": ";
  text += "node '" + escaped(node) + "'";
  if (!nodeOp.empty())
    text += " (" + escaped(nodeOp, 64) + ")";
  return text;
}

} // namespace bycc
