#include "KeptParams.h"

#include "bycc/Support/File.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Text.h"

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc {
namespace {

constexpr uint64_t minBytes = 1 << 20;
constexpr mode_t writeBits = S_IWUSR | S_IWGRP | S_IWOTH;

bool isSafe(const std::string &path, uint64_t bytes) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & writeBits) == 0 && static_cast<uint64_t>(info.st_size) == bytes;
}

bool isAt(const uint8_t *place, std::string_view bytes) {
  return std::memcmp(place, bytes.data(), bytes.size()) == 0;
}

} // namespace

std::string keptParamsPath(const std::string &folder, const SetId &setId,
                           const ParamsWriter &params) {
  if (folder.empty() || params.fileBytes() < minBytes)
    return "";
  return folder + "/" + hexText(setId) + ".params";
}

bool areParamsKept(const ModelParams &params) {
  const std::string &path = params.keptPath();
  if (path.empty() || !isSafe(path, params.sizeBytes()))
    return false;
  auto file = mapFile(path);
  if (!file || (*file)->size() != params.sizeBytes())
    return false;
  // Header and table are the same, and the table has the hashes of the payloads.
  const uint8_t *data = (*file)->data();
  std::string_view header = params.pieces().front(), table = params.pieces().back();
  if (!isAt(data, header) || !isAt(data + (*file)->size() - table.size(), table))
    return false;
  auto seen = readParams(data, (*file)->size(), path);
  return seen && verifyPayloads(*seen, data, path);
}

void keepParams(const ModelParams &params, const std::string &output) {
  const std::string &path = params.keptPath();
  struct stat info;
  if (path.empty() || isSameFile(path, output) || ::stat(output.c_str(), &info) != 0 ||
      !S_ISREG(info.st_mode) || !makeFolder(path.substr(0, path.rfind('/'))))
    return;
  // A name that is no other's, then in the place of what may be there.
  std::string temporary = temporaryPath(path);
  if (::linkat(AT_FDCWD, output.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return; // another file system
  if (::chmod(temporary.c_str(), info.st_mode & 07777 & ~writeBits) == 0)
    (void)::rename(temporary.c_str(), path.c_str());
  ::unlink(temporary.c_str()); // renaming fails, or the two are one file
}

} // namespace bycc
