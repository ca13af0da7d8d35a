// bycc --libs: what a C program is linked with to have a compiled model in it.
//
//   cc main.c $(bycc --libs net.json) -o main
//
// The object stands beside the graph JSON; the runtime where bycc is installed (or built).

#include "bycc/Driver/Driver.h"
#include "bycc/Support/File.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/ShellWord.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace bycc {
namespace {

// ../lib from the program, or as that folder is called, with the library in it.
Expected<std::string> libraryFolder(const std::string &library) {
  for (const char *folder : {"lib", BYCC_LIBDIR}) {
    std::error_code missing;
    auto path = std::filesystem::canonical(programFolder() + "/../" + folder, missing);
    if (!missing && pathExists(path.string() + "/" + library))
      return path.string();
  }
  return (error(Status::Io) << "there is no " << library << " in ../" BYCC_LIBDIR " beside bycc")
      .note("cmake --install and the Debian packages have it, the Python package does not; in a "
            "build "
            "folder: cmake --build build --target bycc_runtime bycc_runtime_static");
}

// "-I.. " where the compiler would not find the runtime's header by itself; "" where it does.
std::string includeFlag() {
  for (const char *folder : {"/../include", "/../../include"}) { // installed; a build folder
    std::error_code missing;
    auto path = std::filesystem::canonical(programFolder() + folder, missing);
    if (!missing && pathExists(path.string() + "/bycc/runtime.h"))
      return path == "/usr/include" ? "" : shellWord("-I" + path.string()) + " ";
  }
  return "";
}

Expected<std::string> objectOf(const std::string &graph) {
  std::string text = BYCC_TRY(readFile(graph));
  JsonValue root = BYCC_TRY(parseJson(text, graph));
  const JsonValue *bycc = root.find("bycc");
  if (!bycc)
    return error(Status::Input, {graph}).as(MessageId::NotOurGraph)
           << "this is not the graph JSON of a compiled model";
  size_t slash = graph.rfind('/');
  std::string folder = slash == std::string::npos ? "" : graph.substr(0, slash + 1);
  return folder + BYCC_TRY(readGraphSet(*bycc, graph)).object.name;
}

Expected<std::string> linkLine(const Options &options) {
  std::string object = shellWord(BYCC_TRY(objectOf(options.input.model)));
  if (options.libsAreStatic) {
    std::string folder = BYCC_TRY(libraryFolder("libbycc_runtime.a"));
    return includeFlag() + object + " " + shellWord(folder + "/libbycc_runtime.a") +
           " -lstdc++ -lm -ldl -lpthread\n";
  }
  std::string folder = BYCC_TRY(libraryFolder("libbycc_runtime.so"));
  return includeFlag() + object + " " + shellWord("-L" + folder) + " " +
         shellWord("-Wl,-rpath," + folder) + " -lbycc_runtime -lm\n";
}

} // namespace

int libsCommand(const Options &options) {
  Expected<std::string> line = linkLine(options);
  if (!line) {
    std::fputs(line.error().str().c_str(), stderr);
    return exitCode(line.error().status());
  }
  std::fputs(line->c_str(), stdout);
  return 0;
}

} // namespace bycc
