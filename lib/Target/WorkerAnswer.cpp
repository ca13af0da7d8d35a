// Fields in the order of WorkerAnswer. Vendors' code may have written anything into the
// worker's memory, so what comes from there is read with care.

#include "WorkerProtocol.h"

namespace bycc {
namespace {

class AnswerWriter {
public:
  std::string bytes;
  template <typename T> void number(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number<uint64_t>(value.size());
    bytes += value;
  }
};

class AnswerReader {
public:
  explicit AnswerReader(std::string_view bytes) : rest_(bytes) {}
  bool isWrong = false;
  bool isAtEnd() const { return rest_.empty(); }

  template <typename T> T number() {
    T value{};
    if (rest_.size() < sizeof value) {
      isWrong = true;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text() {
    auto size = number<uint64_t>();
    if (isWrong || size > rest_.size()) {
      isWrong = true;
      return {};
    }
    std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }

private:
  std::string_view rest_;
};

} // namespace

std::string WorkerAnswer::encode() const {
  AnswerWriter out;
  out.number<uint8_t>(isYes);
  out.text(reason);
  out.number(blamed);
  out.number<uint8_t>(isBlobTooLarge);
  out.text({reinterpret_cast<const char *>(blob.data()), blob.size()});
  out.number<uint64_t>(offers.size());
  for (const Implementation &offer : offers) {
    out.text(offer.name);
    out.number(offer.microseconds.value_or(-1));
  }
  out.text(name);
  out.number<uint64_t>(byNode.size());
  for (const auto &[node, answer, group] : byNode) {
    out.number(node);
    out.number<uint8_t>(answer.isYes);
    out.text(answer.reason);
    out.number(group);
  }
  out.number(weights.offset);
  out.number(weights.bytes);
  return std::move(out.bytes);
}

std::optional<WorkerAnswer> WorkerAnswer::decode(std::string_view bytes) {
  AnswerReader in(bytes);
  WorkerAnswer answer;
  answer.isYes = in.number<uint8_t>();
  answer.reason = in.text();
  answer.blamed = in.number<uint32_t>();
  answer.isBlobTooLarge = in.number<uint8_t>();
  std::string_view blob = in.text();
  answer.blob.assign(blob.begin(), blob.end());
  for (auto left = in.number<uint64_t>(); left > 0 && !in.isWrong; --left) {
    std::string name(in.text());
    auto cost = in.number<double>();
    answer.offers.push_back({std::move(name), cost >= 0 ? std::optional(cost) : std::nullopt});
  }
  answer.name = in.text();
  for (auto left = in.number<uint64_t>(); left > 0 && !in.isWrong; --left) {
    auto node = in.number<uint32_t>();
    bool isYes = in.number<uint8_t>();
    std::string reason(in.text());
    auto group = in.number<uint32_t>();
    answer.byNode.push_back({node, isYes ? Answer::yes() : Answer::no(std::move(reason)), group});
  }
  answer.weights.offset = in.number<uint64_t>();
  answer.weights.bytes = in.number<uint64_t>();
  if (in.isWrong || !in.isAtEnd())
    return std::nullopt;
  return answer;
}

} // namespace bycc
