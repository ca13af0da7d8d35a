// See SystemCompiler.h. No shell: the compiler is started with its arguments as
// they are. Everything it writes goes into a folder of its own under $TMPDIR, which
// is removed.
#include "SystemCompiler.h"

#include "bycc/Support/File.h"
#include "bycc/Support/TemporaryFolder.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace bycc::ccompiler {

namespace {

const char *optionOf(const bycc_target &target, const char *name) {
  return bycc_attr_named(target.options, target.num_options, name)->s;
}

std::vector<std::string> compilerWords(const bycc_target &target) {
  const char *given = optionOf(target, "cc");
  if (!*given)
    given = std::getenv("CC");
  std::vector<std::string> words;
  for (const std::string &word : split(given && *given ? given : "cc", ' '))
    if (!word.empty())
      words.push_back(word);
  if (words.empty())
    words.push_back("cc");
  return words;
}

// Exact results, not fast ones (no -ffast-math); integers wrap. The rest keeps the
// object to what the runtime's loader knows.
std::vector<std::string> commandLine(const bycc_target &target, const std::string &object) {
  std::vector<std::string> words = compilerWords(target);
  std::string level = std::string("-O") + optionOf(target, "opt-level");
  for (const char *flag :
       {"-x", "c", "-std=c11", level.c_str(), "-c", "-pipe", "-w", "-fPIC", "-fwrapv",
        "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fno-stack-protector",
        "-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-U_FORTIFY_SOURCE",
        "-fvisibility=default", "-g0"})
    words.push_back(flag);
  for (std::string &flag : machineFlags(target.features ? target.features : ""))
    words.push_back(std::move(flag));
  words.insert(words.end(), {"-o", object, "-"});
  return words;
}

// Runs it; the exit status, or -1 when it could not be started (errno).
int run(const std::vector<std::string> &words, const std::string &input,
        const std::string &errors) {
  std::vector<char *> argv;
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, errors.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int failed = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    errno = failed;
    return -1;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string firstLine(const std::string &path) {
  Expected<std::string> all = readFile(path, 1 << 20);
  if (!all)
    return "";
  std::vector<std::string> lines = split(*all, '\n');
  auto wanted = std::ranges::find_if(
      lines, [](const std::string &line) { return line.find("error") != std::string::npos; });
  return wanted != lines.end() ? *wanted : lines.empty() ? "" : lines[0];
}

Expected<> writeText(const std::string &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    return error(Status::Io) << "cannot write " << escaped(path) << ": " << std::strerror(errno);
  return {};
}

} // namespace

std::vector<std::string> machineFlags(const std::string &features) {
  static const char *const known[] = {"avx",     "avx2",     "avx512bw",   "avx512cd", "avx512dq",
                                      "avx512f", "avx512vl", "avx512vnni", "bmi",      "bmi2",
                                      "f16c",    "fma",      "lzcnt",      "movbe",    "popcnt",
                                      "sse3",    "sse4.1",   "sse4.2",     "ssse3"};
  std::vector<std::string> flags = {"-march=x86-64"};
  for (const std::string &feature : split(features, ','))
    for (const char *name : known)
      if (feature == name)
        flags.push_back("-m" + feature);
  return flags;
}

Expected<std::vector<uint8_t>> compileC(const std::string &text, const std::string &name,
                                        const bycc_target &target) {
  if (const char *keep = std::getenv("BYCC_CCOMPILER_KEEP"); keep && *keep)
    BYCC_TRY(writeText(std::string(keep) + "/" + asIdentifier(name) + ".c", text));
  TemporaryFolder folder = BYCC_TRY(TemporaryFolder::make("ccompiler"));
  std::string source = folder.file("region.c"), object = folder.file("region.o"),
              errors = folder.file("errors");
  BYCC_TRY(writeText(source, text));
  std::vector<std::string> words = commandLine(target, object);
  int status = run(words, source, errors);
  if (status < 0 || status == 127)
    return error(Status::Unsup) << "cannot run the C compiler '" << escaped(words[0])
                                << "': " << std::strerror(status < 0 ? errno : ENOENT);
  if (status != 0)
    return error(Status::Unsup) << "the C compiler '" << escaped(words[0]) << "' fails with status "
                                << status << ": " << escaped(firstLine(errors));
  std::string bytes = BYCC_TRY(readFile(object, uint64_t{1} << 30));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

} // namespace bycc::ccompiler
