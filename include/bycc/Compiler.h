// The compiler as a library (libbycc). Its command line, bycc, is made of this class.
//
//   bycc::Compiler compiler;
//   bycc::CompileRequest request;
//   request.input.model = "net.onnx";
//   request.vendors.annotate = "dnnl";
//   bycc::Expected<bycc::CompiledModel> model = compiler.compile(request);
//   if (!model)
//     return model.error().str();
//   use(model->object, model->graphJson, model->params.pieces());
//
// Ownership. A CompiledModel owns what it holds; its params keep the bytes of the model
// alive that they are views of. The request is not needed any more; memory that
// Storage::viewOf() was given without an owner must outlive the params.
//
// Errors are values: Expected<> holds a result or an Error with a Status (Support/Error.h)
// and one or more diagnostics with places. A fault of bycc's own is Status::Internal, no
// memory Status::Limit; both leave the object usable.
//
// Threads. compile() may run in any number of threads at the same time, on one object or
// several; each call has a Module, an LLVM context and a process for vendors of its own.
// The add...() functions may not run beside anything else on the same object. A Module
// belongs to one thread at a time, that which runs the pass (IR/Module.h).
//
// What a call does to its process: it opens and maps the files that it is told of, starts
// bycc-worker for the code of built-in vendors and plugins (posix_spawn; the program is
// found beside libbycc, and gets the environment), and ends it. It prints nothing, reads no
// environment variable, takes no signal, and keeps no state but tables of mapped files that
// are behind a lock. Three things are asked for where they are wanted: plugins are loaded
// into the process as well, for their table of functions; PrintingOptions::directory writes
// files, for which OutputSet takes signals; vendors of addVendor() are code of the program.
//
// What it cannot keep from the process: LLVM ends it when it has no memory, and on faults of
// its own (it says so on standard error; llvm::install_fatal_error_handler() can change that).
// A mapped file that somebody cuts short is SIGBUS for whoever reads it: guardMappedFiles()
// (Support/MappedFiles.h), called once by the program, makes that an error, and so does a
// model in memory. The stack must have 8 MiB.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Compiler/CompiledModel.h"
#include "bycc/Compiler/Extensions.h"

namespace bycc {

class Compiler {
public:
  Compiler() = default;

  // A pass of the default lists; also one that pass lists may name. Its function gets the
  // module of one compilation and the context, and says whether it changed something; it
  // may run in several threads at once. USAGE for a name that is taken or a place that no
  // default list has.
  Expected<> addPass(PassInfo pass, PassPlace place);

  // A vendor with code: the table of vendor.h, which must outlive the object. Unlike
  // plugins its functions are called in this process, on the thread of compile(). It is used
  // where VendorOptions::annotate names it. LOAD as for plugins.
  Expected<> addVendor(const bycc_vendor_compiler &vendor);
  // A vendor that a text describes, as patterns/README.md says; host code runs its regions.
  // `name` is for messages.
  Expected<> addVendor(std::string text, std::string name);

  // Patterns (and rules and costs) for a vendor, {"schema": 1, "vendor": "dnnl", ...}, as
  // VendorOptions::patterns takes them; heard where the vendor is in use.
  Expected<> addPatterns(std::string text, std::string name);

  // USAGE for a name that is taken.
  Expected<> addFrontend(Frontend frontend);

  Expected<CompiledModel> compile(const CompileRequest &request) const;

  // The default pass list, or that of the request, as --print-pipeline-passes prints it.
  // The model is not read.
  Expected<std::string> pipelineText(const CompileRequest &request) const;

  const Extensions &extensions() const { return extensions_; }

private:
  Extensions extensions_;
};

const char *versionText(); // "0.1.0"

} // namespace bycc
