// Everything from a request to a CompiledModel: the one pipeline there is.
//
//   1  load      the model, params, shapes, dims
//   2  passes    the list that the options ask for; vendors compile their regions
//   3  report    where everything went, then the caller's policy
//   4  build     host code, weights
//   5  finish    graph JSON, header, texts; the set is checked as the runtime would
#pragma once

#include "Artifacts.h"
#include "bycc/Compiler.h"
#include "bycc/Compiler/Session.h"
#include "bycc/View/ViewDocument.h"

namespace bycc {

class Compilation {
public:
  // Both must outlive the compilation.
  Compilation(const CompileRequest &request, const Extensions &extensions)
      : request_(request), session_(request, extensions) {}

  Expected<CompiledModel> run();

private:
  Expected<> compile();
  Expected<> runPasses();
  void report();
  Expected<> finish();
  Expected<> finishObject();
  std::string setId() const;
  std::vector<CodeForm> codeForms() const;
  Expected<> finishViews();
  void askForPrices();
  void countAll();
  bool wants(OutputForm form) const;
  bool showsPartitioned() const;

  const CompileRequest &request_;
  Session session_;
  Artifacts artifacts_;
  OperatorGraph graph_; // of model_.report
  RefusalPrices prices_;
  CompiledModel model_;
};

} // namespace bycc
