#include "Npz.h"

#include "bycc/Support/Text.h"

#include <algorithm>
#include <memory>
#include <minizip/unzip.h>
#include <minizip/zip.h>

namespace bycc::run {
namespace {

constexpr std::string_view suffix = ".npy";

class Archive {
public:
  explicit Archive(const std::string &path)
      : path_(path), zip_(unzOpen64(path.c_str()), unzClose) {}

  Expected<std::map<std::string, NpyArray>> read(const std::vector<std::string> &wanted) {
    if (!zip_) {
      BYCC_TRY(mapFile(path_)); // says why, when it cannot be read
      return broken() << "is no ZIP archive";
    }
    std::map<std::string, NpyArray> arrays;
    int code = unzGoToFirstFile(zip_.get());
    for (; code == UNZ_OK; code = unzGoToNextFile(zip_.get())) {
      std::string name = BYCC_TRY(memberName());
      if (!name.ends_with(suffix))
        continue;
      name.resize(name.size() - suffix.size());
      if (std::ranges::find(wanted, name) == wanted.end())
        continue;
      if (arrays.contains(name))
        return broken() << "holds '" << escaped(name) << ".npy' twice";
      auto bytes = BYCC_TRY(member(name));
      arrays[name] = BYCC_TRY(parseNpy(std::move(bytes), path_ + ": " + escaped(name) + ".npy"));
    }
    if (code != UNZ_END_OF_LIST_OF_FILE && !isEmpty())
      return broken() << "its list of members is damaged";
    return arrays;
  }

private:
  ErrorBuilder broken() const { return error(Status::Input, {path_}); }

  bool isEmpty() const {
    unz_global_info64 info{};
    return unzGetGlobalInfo64(zip_.get(), &info) == UNZ_OK && info.number_entry == 0;
  }

  Expected<std::string> memberName() {
    unz_file_info64 info{};
    std::vector<char> name(size_t{1} << 16); // as long as a name can be
    if (unzGetCurrentFileInfo64(zip_.get(), &info, name.data(), name.size() - 1, nullptr, 0,
                                nullptr, 0) != UNZ_OK)
      return broken() << "its list of members is damaged";
    return std::string(name.data(), std::min<size_t>(info.size_filename, name.size() - 1));
  }

  // Grows with what is there, not with what the archive says.
  Expected<std::shared_ptr<const Storage>> member(const std::string &name) {
    if (unzOpenCurrentFile(zip_.get()) != UNZ_OK)
      return broken() << "'" << escaped(name)
                      << ".npy' is damaged, encrypted or packed in another way than deflate";
    std::vector<uint8_t> bytes;
    constexpr unsigned chunk = 1 << 20;
    int got = 0;
    do {
      size_t before = bytes.size();
      bytes.resize(before + chunk);
      got = unzReadCurrentFile(zip_.get(), bytes.data() + before, chunk);
      bytes.resize(before + static_cast<size_t>(std::max(got, 0)));
    } while (got > 0);
    int closed = unzCloseCurrentFile(zip_.get()); // of a member that was read whole: its checksum
    if (got < 0 || closed != UNZ_OK)
      return broken() << "'" << escaped(name) << ".npy' is damaged";
    return Storage::own(std::move(bytes));
  }

  std::string path_;
  std::unique_ptr<void, int (*)(void *)> zip_;
};

bool addMember(zipFile zip, const OutputView &output) {
  std::string name = std::string(output.info->file) + std::string(suffix);
  std::string header = npyHeader(static_cast<DType>(output.info->dtype), output.shape);
  zip_fileinfo info{};
  info.tmz_date.tm_mday = 1; // 1980-01-01: equal results are equal files
  info.tmz_date.tm_year = 1980;
  bool isLarge = output.bytes + header.size() >= UINT32_MAX;
  if (zipOpenNewFileInZip64(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0,
                            isLarge) != ZIP_OK ||
      zipWriteInFileInZip(zip, header.data(), static_cast<unsigned>(header.size())) != ZIP_OK)
    return false;
  constexpr size_t chunk = size_t{1} << 30; // the library counts in 32 bits
  for (size_t at = 0; at < output.bytes; at += chunk)
    if (zipWriteInFileInZip(zip, output.data + at,
                            static_cast<unsigned>(std::min(chunk, output.bytes - at))) != ZIP_OK)
      return false;
  return zipCloseFileInZip(zip) == ZIP_OK;
}

} // namespace

Expected<std::map<std::string, NpyArray>> readNpz(const std::string &path,
                                                  const std::vector<std::string> &wanted) {
  return Archive(path).read(wanted);
}

Expected<> writeNpz(const std::string &path, const std::vector<OutputView> &outputs) {
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  bool isWritten = zip && std::ranges::all_of(outputs, [&](const OutputView &output) {
                     return addMember(zip, output);
                   });
  if (zip && zipClose(zip, nullptr) != ZIP_OK)
    isWritten = false;
  if (!isWritten)
    return error(Status::Io, {path}) << "cannot be written";
  return {};
}

} // namespace bycc::run
