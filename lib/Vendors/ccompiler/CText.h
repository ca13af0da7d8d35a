// C as text: types, literals, index expressions, and lines with indentation.
#pragma once

#include "Graph.h"

namespace bycc::ccompiler {

const char *cType(DType dtype);     // "float", "int32_t"; bool is uint8_t
const char *shortName(DType dtype); // "f32", "i32", "bool": suffix of helper functions
// The type sums of products are made in: the dtype itself for floats, an unsigned
// one of at least its width, which wraps, for integers.
const char *sumType(DType dtype);

// `expression` of one C type as another; unchanged when they are the same.
std::string converted(const std::string &expression, std::string_view from, std::string_view to);

// Element `index` at `data` as a literal of its C type.
std::string literal(DType dtype, const void *data, int64_t index);
std::string literal(DType dtype, double value); // of a float dtype

// "offset + index[0] * strides[0] + ...", short: no zeros, no factors of one.
std::string indexText(const std::vector<std::string> &index, const Dims &strides,
                      int64_t offset = 0);

// `text` with every `$key` replaced, `$0` .. `$9` and letters as keys.
std::string filled(std::string_view text, const std::vector<std::pair<char, std::string>> &values);

class CWriter {
public:
  void line(const std::string &text);
  void open(const std::string &head); // "head {" and deeper
  void close(const std::string &tail = "}");
  // for (int64_t name = 0; name < extent; ++name) {
  void loop(const std::string &name, int64_t extent) { loop(name, std::to_string(extent)); }
  void loop(const std::string &name, const std::string &extent, const std::string &step = "1");
  size_t depth() const { return depth_; }
  void closeTo(size_t depth);
  std::string take() { return std::move(text_); }

private:
  std::string text_;
  size_t depth_ = 0;
};

} // namespace bycc::ccompiler
