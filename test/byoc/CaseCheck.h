// Checks a partitioned program against NAME.expect.json of a partitioning case;
// what the fields mean is told in test/cases/byoc/README.md.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Json.h"

#include <string>
#include <vector>

namespace bycc::cases {

// A tensor of a case: {dtype, shape, data}, as numbers.
struct CaseTensor {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  std::vector<double> data;
  std::vector<uint8_t> bytes() const;
};
Expected<CaseTensor> readTensor(const JsonValue &value, const std::string &file);

struct CaseFiles {
  std::string name, program, expectFile;
  JsonValue expect; // the whole expect.json
  const JsonValue &expectations() const { return *expect.find("expect"); }
  bool isError() const { return expectations().find("error") != nullptr; }
};
Expected<CaseFiles> readCase(const std::string &folder, const std::string &name);
// Names of all cases in the folder, sorted.
std::vector<std::string> caseNames(const std::string &folder);

// Every way in which the partitioned program fails the expectations; empty: none.
// `dump` is what --dump-offloads=F.json wrote; `before` is the source program
// without dead code. All properties but same_results are covered.
std::vector<std::string> checkCase(const CaseFiles &files, const JsonValue &dump,
                                   const Module &before, Module &after);

} // namespace bycc::cases
