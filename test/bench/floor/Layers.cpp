#include "Layers.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace floor_bench {

namespace {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

int64_t integer(const std::string &text) {
  char *end = nullptr;
  int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0')
    fail("'" + text + "' is no integer");
  return value;
}

std::vector<int64_t> extentsOf(const std::string &text) {
  std::vector<int64_t> extents;
  for (const std::string &part : split(text, 'x'))
    extents.push_back(integer(part));
  return extents;
}

Operand parseOperand(const std::string &text) {
  auto parts = split(text, ':');
  if (parts.size() != 3)
    fail("'" + text + "' is no operand");
  auto at = split(parts[0], '@');
  return {at[0], at.size() > 1 ? integer(at[1]) : 0, parts[1], extentsOf(parts[2])};
}

PostOp parsePostOp(const std::string &text) {
  PostOp post;
  size_t equals = text.find('=');
  if (equals != std::string::npos) {
    post.kind = text.substr(0, equals);
    post.operand = parseOperand(text.substr(equals + 1));
    return post;
  }
  auto parts = split(text, ':');
  post.kind = parts[0];
  if (post.kind == "clip" && parts.size() == 3) {
    post.low = std::strtof(parts[1].c_str(), nullptr);
    post.high = std::strtof(parts[2].c_str(), nullptr);
  }
  return post;
}

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

} // namespace

void fail(const std::string &message) {
  std::fprintf(stderr, "bench-floor: %s\n", message.c_str());
  std::exit(1);
}

const std::string &Layer::text(const std::string &key) const {
  auto found = keys.find(key);
  if (found == keys.end())
    fail(kind + " " + name + ": no " + key);
  return found->second;
}

int64_t Layer::number(const std::string &key) const { return integer(text(key)); }

std::vector<int64_t> Layer::extents(const std::string &key) const { return extentsOf(text(key)); }

Operand Layer::operand(const std::string &key) const { return parseOperand(text(key)); }

std::vector<PostOp> Layer::postOps() const {
  std::vector<PostOp> posts;
  if (has("post"))
    for (const std::string &part : split(text("post"), ','))
      posts.push_back(parsePostOp(part));
  return posts;
}

std::vector<Layer> readLayers(const std::string &path, const std::string &floatType) {
  std::ifstream file(path);
  if (!file)
    fail("cannot read " + path);
  std::vector<Layer> layers;
  for (std::string line; std::getline(file, line);) {
    replaceAll(line, ":f32:", ":" + floatType + ":");
    std::istringstream words(line);
    Layer layer;
    words >> layer.kind;
    for (std::string word; words >> word;) {
      size_t equals = word.find('=');
      if (equals == std::string::npos)
        fail(path + ": '" + word + "' has no value");
      layer.keys[word.substr(0, equals)] = word.substr(equals + 1);
    }
    layer.name = layer.text("name");
    layers.push_back(layer);
  }
  return layers;
}

} // namespace floor_bench
