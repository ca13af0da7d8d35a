// What bycc and the program that runs vendors' code (libexec/bycc/bycc-worker) say to
// each other, over one socket. Both are of one build and on one machine.
//
//   to the worker:   File* Vendor Target Ask Ask Ask ..
//   from it:         Answer              Answer Answer ..
//
// The first Answer says that it is there; time limits do not count what came before. A File comes
// with a descriptor (SCM_RIGHTS) and gets the next number. A Vendor gets the next number, too: the
// name of one that is built in, or the file of a plugin; what its options are set to follows.
#pragma once

#include "WeightsMemory.h"
#include "bycc/Target/Vendor.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

enum class Question : uint32_t { Supports, Annotate, Compile, Tune };

enum class ToWorker : uint32_t { File, Vendor, Target, Ask };
struct WorkerHead {
  ToWorker kind;
  uint32_t vendor = 0;                    // of an Ask
  Question question = Question::Supports; // of an Ask
  uint32_t isQuiet = 0;                   // of an Ask: what the vendor prints goes nowhere
  uint64_t bytes = 0;                     // that follow
};

struct AnswerHead {
  static constexpr uint32_t expectedMagic = 0x4e4f4752;
  uint32_t magic = expectedMagic;
  uint64_t bytes = 0;
};

// An answer as the vendor gave it, with the weights that it wrote.
struct WorkerAnswer {
  bool isYes = false; // supports() took it, others are done
  std::string reason; // of a no; never empty then
  uint32_t blamed = UINT32_MAX;
  std::vector<uint8_t> blob;
  bool isBlobTooLarge = false;
  std::vector<Implementation> offers;
  std::string name; // that it gives a composite
  struct ByNode {
    uint32_t node;
    Answer answer;
    uint32_t group; // of a yes
  };
  std::vector<ByNode> byNode;
  WeightsPlace weights;

  std::string encode() const;
  // None: these bytes are no answer.
  static std::optional<WorkerAnswer> decode(std::string_view bytes);
};

// Fixed numbers of the worker's descriptors.
enum WorkerDescriptor { workerSocket = 3, workerWeights = 4 };

} // namespace bycc
