#include "KeptCase.h"

#include "bycc/IR/Printer.h"
#include "bycc/Support/Npy.h"
#include "bycc/Support/Text.h"

#include <filesystem>
#include <fstream>

namespace bycc::conformance {

namespace {

namespace fs = std::filesystem;

std::string programOf(const Setup &setup) { return setup.caseFolder + "/case.relay"; }

void writeNpy(const std::string &path, const Tensor &tensor) {
  std::ofstream file(path, std::ios::binary);
  file << npyHeader(tensor.dtype, tensor.shape);
  file.write(reinterpret_cast<const char *>(tensor.bytes.get()), tensor.sizeBytes());
}

// The function as the program's @main.
std::string programText(const Subject &subject) {
  std::string text = printModule(subject.module);
  size_t name = text.find("def @region(");
  return name == std::string::npos ? text : text.replace(name + 5, 6, "main");
}

} // namespace

void noteCase(const Setup &setup, const Subject &subject, const std::vector<Tensor> &inputs) {
  if (setup.caseFolder.empty())
    return;
  std::error_code ignored;
  fs::remove_all(setup.caseFolder, ignored);
  fs::create_directories(setup.caseFolder + "/inputs", ignored);
  fs::create_directories(setup.caseFolder + "/expected", ignored);
  const Module &module = subject.module;
  const std::vector<NodeId> &params = module.function(subject.function).params;
  for (size_t i = 0; i < std::min(params.size(), inputs.size()); ++i)
    writeNpy(setup.caseFolder + "/inputs/" +
                 std::string(module.string(module.node(params[i]).name)) + ".npy",
             inputs[i]);
  if (Expected<std::vector<Tensor>> wanted = evaluate(module, subject.function, inputs))
    for (size_t i = 0; i < wanted->size(); ++i)
      writeNpy(setup.caseFolder + "/expected/output_" + std::to_string(i) + ".npy", (*wanted)[i]);
  std::ofstream(programOf(setup)) << programText(subject);
}

void forgetCase(const Setup &setup) {
  std::error_code ignored;
  if (!setup.caseFolder.empty())
    fs::remove(programOf(setup), ignored);
}

std::string keepCase(const Setup &setup, const std::string &check, const std::string &why) {
  std::error_code failed;
  if (setup.caseFolder.empty() || !fs::exists(programOf(setup), failed))
    return "";
  std::string folder;
  for (int number = 1; folder.empty() || fs::exists(folder, failed); ++number)
    folder = setup.keepFolder + "/" + check + "-" + std::to_string(number);
  fs::create_directories(setup.keepFolder, failed);
  fs::copy(setup.caseFolder, folder, fs::copy_options::recursive, failed);
  std::ofstream script(folder + "/repeat.sh");
  script << "#!/bin/sh\n# " << escaped(why, 1000) << "\ncd \"$(dirname \"$0\")\"\n"
         << "bycc case.relay -O0 " << setup.compileOptions << " -o case.o\n"
         << setup.runEnvironment << "bycc-run case.json --inputs inputs --expected expected\n"
         << "# " << setup.command << " --filter=" << check << "\n";
  script.close();
  if (failed || !script)
    return "";
  forgetCase(setup);
  return folder;
}

} // namespace bycc::conformance
