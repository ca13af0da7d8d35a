// bycc view: the page of a compiled model, from its graph JSON alone.

#include "Terminal.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/View/ViewDocument.h"

#include <cstdio>

namespace bycc {
namespace {

Expected<> writePage(const Options &options) {
  const std::string &graph = options.input.model, &profile = options.page.profileData;
  ViewDocument document = BYCC_TRY(readGraphReport(BYCC_TRY(readFile(graph)), graph));
  if (!profile.empty())
    BYCC_TRY(addProfile(document, BYCC_TRY(readFile(profile)), profile));
  std::string page = viewPage(document),
              path = options.output.output.value_or(document.title + ".html");
  if (path == "-") {
    if (std::fwrite(page.data(), 1, page.size(), stdout) != page.size() || std::fflush(stdout) != 0)
      return error(Status::Io) << "standard output cannot be written";
    return {};
  }
  for (const std::string &input : {graph, profile})
    if (path == input || isSameFile(path, input))
      return error(Status::Usage).as(MessageId::OutputIsInput)
             << "the output " << escaped(path) << " is an input";
  OutputSet files;
  BYCC_TRY(files.add(path, page));
  return files.commit();
}

} // namespace

int viewCommand(const Options &options) {
  auto written = writePage(options);
  return written ? 0 : Terminal(options).fail(written.error());
}

} // namespace bycc
