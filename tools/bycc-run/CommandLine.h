// What the user asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bycc::run {

struct Options {
  std::string graph; // STEM.json
  std::string params;
  std::vector<std::string> vendorOptions; // V.NAME=VALUE
  std::string inputsFolder;
  std::vector<std::string> inputs; // NAME=FILE.npy
  std::optional<uint64_t> randomSeed;
  std::vector<std::string> shapes; // NAME=5x3x4, of random inputs
  std::string outputsFolder;
  std::string batchFolder;
  std::optional<int64_t> printCount;
  std::string expectedFolder;
  double rtol = 1e-3, atol = 1e-5;
  bool bench = false;
  std::optional<int64_t> runs;
  int64_t warmup = 5;
  double seconds = 0; // 0: no time limit
  std::string json;   // of the bench; "-": stdout
  bool profile = false;
  bool checkNan = false;
  std::string traceFile;
  int32_t threads = 0;
  bool verify = false, verbose = false, quiet = false;
};

struct Parsed {
  std::optional<int> exitCode; // set: help or version was printed, or the line was wrong
  Options options;
};

Parsed parseCommandLine(const std::vector<std::string> &arguments);

} // namespace bycc::run
