// The passes somebody may ask for by name. Transforms, Partition, the driver and
// plugins add rows to one registry object; nothing registers itself.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bycc {

// Every pass has this form; true = something changed.
using PassFn = std::function<Expected<bool>(Module &, PassContext &)>;

struct PassInfo {
  std::string name;        // "fold-constants", also the flag
  std::string description; // one line for --help
  int level = 0;           // lowest -O whose default list has it
  // Facts about the program, by name. `needs`: must hold before ("!fact": must
  // not hold; "a|b": one of them); `makes`: holds after.
  std::vector<std::string> needs;
  std::vector<std::string> makes;
  std::vector<std::string> options; // keys it understands in {braces}
  PassFn run;
  bool takesOperators = false; // names of operators are keys, too; it checks them itself
  std::string operand;         // the key of a first value without one; "": there is none
};

class PassRegistry {
public:
  // A name that is taken is replaced, so that a plugin may override a pass.
  void add(PassInfo info);
  // A row as Passes.def writes it: words separated by spaces, an operand as <key>,
  // [operator] where keys are names of operators.
  void add(std::string_view name, int level, std::string_view needs, std::string_view makes,
           std::string_view options, std::string_view description, PassFn run);
  const PassInfo *find(std::string_view name) const;
  // Usage error with the nearest name when there is no such pass.
  Expected<const PassInfo *> get(std::string_view name) const;
  std::vector<const PassInfo *> all() const; // sorted by name
  // A pass that makes the fact, or null.
  const PassInfo *makerOf(std::string_view fact) const;

private:
  std::deque<PassInfo> passes_; // stable addresses
  std::unordered_map<std::string, PassInfo *> byName_;
};

// Adds the rows of Passes.def.
void registerTransforms(PassRegistry &registry);

} // namespace bycc
