// Who gives the files of output sets their names: the process that wrote them, unless
// it says otherwise. For one that may die at any time, and has another that watches it.
#pragma once

#include "bycc/Support/Error.h"

#include <string>
#include <vector>

namespace bycc {

// Written and synced, under a name that is not its own yet.
struct WrittenOutput {
  std::string temporary, target;
};

class OutputCommitter {
public:
  virtual ~OutputCommitter() = default;
  // A temporary is about to be made: whoever outlives this process removes it.
  virtual void announce(const std::string &temporary) = 0;
  // All get their names, or none.
  virtual Expected<> commit(const std::vector<WrittenOutput> &outputs) = 0;
};

// For all output sets of this process that are committed from now on; null: itself.
void setOutputCommitter(OutputCommitter *committer);

// What OutputSet::commit() does with files that this process or another has written.
// Temporaries that get no name are removed.
Expected<> commitOutputs(const std::vector<WrittenOutput> &outputs);

} // namespace bycc
