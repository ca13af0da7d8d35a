#include "bycc/Target/PluginPass.h"

#include "Plugin.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <unistd.h>

namespace bycc {
namespace {

bool isPassName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Expected<> check(const bycc_pass &pass, const std::string &file) {
  if (pass.abi_version != BYCC_PASS_ABI_VERSION)
    return error(Status::Load, {file})
           << "a pass speaks version " << pass.abi_version
           << " of the pass interface, this bycc speaks " << BYCC_PASS_ABI_VERSION;
  if (pass.size < sizeof(bycc_pass))
    return error(Status::Load, {file}) << "a bycc_pass has size " << pass.size << ", at least "
                                       << sizeof(bycc_pass) << " is needed: set it to sizeof";
  if (!pass.name || !isPassName(pass.name))
    return error(Status::Load, {file})
           << "'" << escaped(pass.name ? pass.name : "")
           << "' cannot be a pass's name: wanted small letters, digits and -";
  if (!pass.run)
    return error(Status::Load, {file}) << "pass '" << pass.name << "' has no function 'run'";
  if (pass.before && pass.after)
    return error(Status::Load, {file})
           << "pass '" << pass.name << "' stands before '" << escaped(pass.before)
           << "' and after '" << escaped(pass.after) << "': one place is needed";
  if (pass.form > (BYCC_PASS_JSON | BYCC_PASS_DATA))
    return error(Status::Load, {file}) << "pass '" << pass.name << "' asks for form " << pass.form
                                       << ", which this bycc does not know";
  return {};
}

struct Output {
  std::string text;
  bool isChanged = false;
};

void takeProgram(void *self, const char *text, size_t bytes) {
  auto *output = static_cast<Output *>(self);
  output->text.assign(text, bytes);
  output->isChanged = true;
}

void sayMessage(void *, const char *text) { std::fprintf(stderr, "%s\n", text); }

} // namespace

Expected<std::vector<const bycc_pass *>> pluginPasses(const std::string &file) {
  PluginEntries entries = BYCC_TRY(loadPluginFile(file));
  std::vector<const bycc_pass *> passes;
  constexpr uint32_t most = 1000;
  for (uint32_t i = 0; entries.passes && i < most; ++i) {
    const bycc_pass *pass = entries.passes(i);
    if (!pass)
      break;
    BYCC_TRY(check(*pass, file));
    passes.push_back(pass);
  }
  return passes;
}

int servePass(const std::string &file, const std::string &name) {
  auto passes = pluginPasses(file);
  if (!passes) {
    std::fprintf(stderr, "%s\n", passes.error().message().c_str());
    return 1;
  }
  auto pass =
      std::ranges::find_if(*passes, [&](const bycc_pass *each) { return name == each->name; });
  if (pass == passes->end()) {
    std::fprintf(stderr, "there is no pass '%s' in it any more\n", name.c_str());
    return 1;
  }
  std::string program;
  char buffer[1 << 16];
  for (ssize_t got; (got = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0;)
    program.append(buffer, static_cast<size_t>(got));
  Output changed;
  bycc_pass_output output{sizeof output, &changed, takeProgram, sayMessage};
  int32_t failure = (*pass)->run((*pass)->self, program.c_str(), program.size(), &output);
  if (failure != 0)
    return 1;
  const std::string &result = changed.isChanged ? changed.text : program;
  for (size_t at = 0; at < result.size();) {
    ssize_t written = ::write(STDOUT_FILENO, result.data() + at, result.size() - at);
    if (written <= 0)
      return 1;
    at += static_cast<size_t>(written);
  }
  return 0;
}

} // namespace bycc
