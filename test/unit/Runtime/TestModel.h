// A model in a folder of its own: module.c's object with a graph JSON and
// params to match, and helpers to damage and run it.
#pragma once

#include "bycc/runtime.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

struct TestModel {
  explicit TestModel(const char *object = BYCC_TEST_OBJECT_HOST);
  ~TestModel() { std::filesystem::remove_all(folder); }
  TestModel(const TestModel &) = delete;

  std::filesystem::path folder;
  std::string json() const { return folder / "net.json"; }
  std::string object() const { return folder / "net.o"; }
  std::string params() const { return folder / "net.params"; }
  // Makes the graph JSON anew for the object and params as they are now;
  // `from` -> `to` is replaced in it before it is sealed.
  void writeGraph(const std::string &from = "", const std::string &to = "") const;
  // "" when it loads, else the error.
  std::string loadError(const bycc_load_options *options = nullptr) const;
};

std::string readText(const std::string &path);
void writeText(const std::string &path, const std::string &text);

struct Loaded {
  explicit Loaded(const TestModel &test, int32_t threads = 0);
  ~Loaded();
  bycc_model *model = nullptr;
  bycc_context *context = nullptr;
};

// Binds a[n][4] and b[n] and runs; the data must live until the run.
struct Inputs {
  explicit Inputs(int64_t n, float first = 1);
  int64_t n;
  int64_t shapeA[2], shapeB[1];
  std::vector<float> a, b;
  int32_t bind(bycc_context *context) const;
};
std::vector<float> outputOf(bycc_context *context, uint32_t index);
// What output 0 and 2 must be.
std::vector<float> wantedScaled(const Inputs &inputs);
std::vector<float> wantedPositive(const Inputs &inputs);
