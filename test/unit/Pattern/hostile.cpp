// Pattern texts that are cut or changed at random: they parse or are refused, and what
// parses matches or does not, in bounded time. Seeds are fixed.

#include "bycc/Parser/Relay.h"
#include "bycc/Pattern/Matcher.h"

#include <catch2/catch.hpp>
#include <random>

using namespace bycc;

namespace {

const char *texts[] = {
    ("nn.relu(add(nn.conv2d{groups=1, strides=[1, 1]|[2, 2]}($x<float32, [1, ?, ..., %4]>, $w:#), "
     "#(0.5 ~ 1e-3)))"),
    "multiply($x, sigmoid?(@t)) | multiply(@t, $x)",
    "path+{add|multiply}(tanh($x))",
    "path{nn.relu|add|tanh}(nn.dense{units>=8<1024}(*, #([1, 2, 3])))",
    "(nn.relu|tanh)(concatenate((split(*)[1], $a, $a)))",
    "add(...)",
};
const char *relayTexts[] = {
    "free_var %x; free_var %w: Tensor[(2, ?), float32]; nn.relu(nn.dense(%x, %w, units=4) + 0.5f)",
    "fn (%x, %y: float32) -> float32 { let %t = tanh(%x); %0 = (%t, %y); concatenate(%0, axis=-1) "
    "* %t }",
};

Module program() {
  return parseRelay(
             "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 2), float32]) { %0 = tanh(%x); "
             "%1 = nn.relu(multiply(%0, add(%0, 0.5f))); concatenate((%1, %0, %0)) }",
             "t")
      .takeValue();
}

bool matchesSomewhere(const Module &module, const Pattern &pattern) {
  Matcher::MayContain mayContain = [](NodeId) { return true; };
  Matcher::Accept accept = [](const Match &) { return true; };
  Matcher matcher(module, pattern, mayContain, accept);
  bool found = false;
  for (NodeId node : module.block(module.function(module.main()).body).nodes)
    found |= matcher.match(node) == MatchOutcome::Accepted;
  return found;
}

// A text with one to three characters changed, dropped, doubled, or put in.
std::string mutated(std::string text, std::mt19937 &random) {
  const std::string characters = "()[]{}<>|,.*#$@?~%=!:;\"-0129aexfn \\\n";
  for (int i = static_cast<int>(random() % 3); i >= 0 && !text.empty(); --i) {
    size_t at = random() % text.size();
    char c = characters[random() % characters.size()];
    switch (random() % 4) {
    case 0:
      text[at] = c;
      break;
    case 1:
      text.erase(at, 1 + random() % 4);
      break;
    case 2:
      text.insert(at, text.substr(at, 1 + random() % 8));
      break;
    default:
      text.insert(at, 1, c);
    }
  }
  return text;
}

} // namespace

TEST_CASE("patterns that are cut off") {
  Module module = program();
  for (const char *text : texts)
    for (size_t size = 0; size <= std::string_view(text).size(); ++size) {
      Expected<Pattern> pattern =
          parsePattern("v.p", {std::string_view(text).substr(0, size), {{"t", "tanh(*)"}}});
      if (pattern)
        matchesSomewhere(module, *pattern);
      else
        CHECK_FALSE(pattern.error().message().empty());
    }
  for (const char *text : relayTexts)
    for (size_t size = 0; size <= std::string_view(text).size(); ++size)
      if (Expected<Pattern> pattern =
              parseRelayPattern("v.p", std::string_view(text).substr(0, size)))
        matchesSomewhere(module, *pattern);
}

TEST_CASE("patterns with changed characters") {
  Module module = program();
  std::mt19937 random(20240607);
  size_t parsed = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    bool isRelay = round % 3 == 0;
    std::string text =
        isRelay ? relayTexts[random() % std::size(relayTexts)] : texts[random() % std::size(texts)];
    text = mutated(text, random);
    INFO("seed 20240607, round " << round << ": " << text);
    Expected<Pattern> pattern =
        isRelay ? parseRelayPattern("v.p", text) : parsePattern("v.p", {text, {{"t", "tanh(*)"}}});
    if (pattern)
      matchesSomewhere(module, *pattern);
    (pattern ? parsed : refused) += 1;
    CHECK((pattern || !pattern.error().message().empty()));
  }
  CHECK(parsed > 10); // else the changes are too wild to test the matcher
  CHECK(refused > 1000);
}

TEST_CASE("Relay patterns are bounded") {
  auto problem = [](const std::string &text) {
    Expected<Pattern> pattern = parseRelayPattern("v.p", text);
    return pattern ? std::string() : pattern.error().message();
  };
  CHECK(problem(std::string(100000, '(')).find("longer than") != std::string::npos);
  CHECK(problem(std::string(1000, '(')).find("nested deeper than 64") != std::string::npos);
  std::string sum = "free_var %x; abs(%x)";
  for (int i = 0; i < 2000; ++i)
    sum += " + 1f";
  CHECK(problem(sum).find("more than 1024 parts") != std::string::npos);
}
