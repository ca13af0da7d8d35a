// What a compilation gives: everything that bycc writes into files, as values.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Compiler/TimeTrace.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/DType.h"
#include "bycc/Support/ParamsFile.h"
#include "bycc/Transforms/PassManager.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// An input or output, as a program gives or gets it: row-major, on the host.
struct TensorInfo {
  std::string name; // as in the model
  std::string file; // stem of its .npy: '/' is '_', collisions get ".1", ".2"
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;    // -1: known at run time
  std::vector<std::string> dims; // the same as text: "3", "batch", "?"
};

// The weights. They are not copied: pieces are views of the model's own bytes, which this
// object keeps alive, and of the table that stands after them.
class ModelParams {
public:
  bool empty() const { return pieces_.empty(); } // no weights, or they are embedded
  uint64_t sizeBytes() const { return writer_ ? writer_->fileBytes() : 0; }
  // The file STEM.params is these, one after the other.
  const std::vector<std::string_view> &pieces() const { return pieces_; }
  std::string bytes() const; // a copy
  const ParamsWriter *writer() const { return writer_.get(); }
  // --cache-dir: where STEM.params stays by a second name; "": nowhere.
  const std::string &keptPath() const { return keptPath_; }

private:
  friend class Compilation;
  std::shared_ptr<ParamsWriter> writer_;
  std::vector<std::string_view> pieces_;
  std::string keptPath_;
};

struct CompiledModel {
  std::string moduleName; // prefix of the object's symbols
  std::string
      setId; // of the object, graph JSON, params and header, in hexadecimal; "": no code was made
  std::vector<TensorInfo> inputs, outputs;

  // Forms that were asked for; the others are empty.
  std::string object, graphJson, header; // Object (the header: Header as well)
  ModelParams params;                    // Object
  std::string assembly, llvmText, loops; // Assembly, LlvmText, Loops
  std::string relay, json, dot, html;    // Relay, Json, Dot, Html

  OffloadReport report; // text() and json() are what --explain and --dump-offloads show
  std::optional<uint64_t> arenaBytes; // memory of a run; none: no code was made
  std::vector<Message> messages;
  std::vector<std::string> filesRead; // the model first; not those that were given in memory
  std::vector<PassTime> passTimes;    // in the order in which they ran
  TimeTrace trace;                    // json() is what -ftime-trace writes
  std::string partitionPlan;          // VendorOptions::savesPlan
  std::string tuningRecords; // VendorOptions::tune: the file's new content; "": nothing new
};

} // namespace bycc
