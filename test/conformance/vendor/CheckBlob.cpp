// What becomes of the bytes that a compile half writes.
#include "Checks.h"
#include "RandomSubject.h"

#include "bycc/Target/RegionCompiler.h"

#include <algorithm>
#include <cstring>

namespace bycc::conformance {

namespace {

constexpr const char *noSample = "the vendor takes none of the operators that samples are made of";

// A sample and its bytes; nothing when there is none, and that is said.
std::optional<Built> sample(const Setup &setup, Findings &findings) {
  findings.begin("sample");
  std::optional<Subject> subject = sampleSubject(setup);
  if (!subject) {
    findings.skip(noSample);
    return std::nullopt;
  }
  Expected<Built> built = build(setup, *subject);
  if (built)
    return built.takeValue();
  findings.fail("sample", built.error().message());
  return std::nullopt;
}

bool sameBytes(const AlignedBytes &a, const AlignedBytes &b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

void loadDamaged(const Setup &setup, Findings &findings, const Built &built,
                 std::span<const uint8_t> blob, const std::string &item, bool mustRefuse) {
  findings.begin(item);
  if (findings.isGap(item))
    return;
  LoadReply reply = tryLoad(setup, built, blob, built.weights.size(), 1);
  if (reply.status == BYCC_OK)
    setup.runtime->unload(setup.context, reply.region);
  if (mustRefuse)
    findings.expect(reply.status != BYCC_OK, item, "load() takes it");
  findings.expect(reply.status != BYCC_INTERNAL, item, "load() calls it an internal error");
  findings.expect(reply.status == BYCC_OK || !reply.error.empty(), item, "load() gives no reason");
}

} // namespace

void checkSameBlob(const Setup &setup, Findings &findings) {
  for (uint32_t seed = setup.seed; seed < setup.seed + 4; ++seed) {
    std::string item = "seed " + std::to_string(seed);
    findings.begin(item);
    std::optional<Subject> first = randomSubject(setup, seed, 6),
                           other = randomSubject(setup, seed + 1, 4);
    if (!first || findings.isGap(item))
      continue;
    Expected<Built> once = build(setup, *first);
    if (other)
      if (Expected<Built> between = build(setup, *other); !between)
        findings.fail(item, between.error().message());
    // Made anew, so that every address differs.
    Expected<Built> again = build(setup, *randomSubject(setup, seed, 6));
    if (!once || !again)
      findings.fail(item, (once ? again : once).error().message());
    else
      findings.expect(once->blob == again->blob && sameBytes(once->weights, again->weights), item,
                      "the bytes differ");
  }
}

void checkDamagedBlob(const Setup &setup, Findings &findings) {
  std::optional<Built> built = sample(setup, findings);
  if (!built)
    return;
  const std::vector<uint8_t> &blob = built->blob;
  size_t stride = std::max<size_t>(1, blob.size() / 200);
  for (size_t size = 0; size < blob.size(); size += stride)
    loadDamaged(setup, findings, *built, std::span(blob).first(size),
                "cut after byte " + std::to_string(size), true);
  std::vector<uint8_t> longer = blob;
  longer.resize(blob.size() + 8);
  loadDamaged(setup, findings, *built, longer, "8 bytes more", true);
  for (size_t byte = 0; byte < blob.size(); byte += stride) {
    std::vector<uint8_t> changed = blob;
    changed[byte] ^= static_cast<uint8_t>(1u << byte % 8);
    loadDamaged(setup, findings, *built, changed, "a bit of byte " + std::to_string(byte), false);
  }
}

void checkShortWeights(const Setup &setup, Findings &findings) {
  for (uint32_t seed = setup.seed; seed < setup.seed + 20; ++seed) {
    std::optional<Subject> subject = randomSubject(setup, seed, 10);
    // Constants of an element or two may be part of the bytes themselves.
    if (!subject || constantBytes(*subject) < 256)
      continue;
    findings.begin("seed " + std::to_string(seed));
    Expected<Built> built = build(setup, *subject);
    if (!built)
      return findings.fail("sample", built.error().message());
    if (findings.isGap("no weights"))
      return;
    LoadReply reply = tryLoad(setup, *built, built->blob, 0, 1);
    if (reply.status == BYCC_OK)
      setup.runtime->unload(setup.context, reply.region);
    return findings.expect(reply.status != BYCC_OK, "no weights",
                           "load() takes a region with constants and no weights");
  }
  findings.skip("no sample has constants");
}

void checkOwnWeights(const Setup &setup, Findings &findings) {
  if (!ownsWeights(*setup.vendor))
    return findings.skip("the vendor stores no weights of its own");
  for (uint32_t seed = setup.seed; seed < setup.seed + 8; ++seed) {
    std::string item = "seed " + std::to_string(seed);
    std::optional<Subject> subject = randomSubject(setup, seed, 10);
    if (!subject || constantBytes(*subject) < 256 || findings.isGap(item))
      continue;
    findings.begin(item);
    Expected<Built> built = build(setup, *subject, {.hasWeights = false});
    if (!built) {
      findings.expect(!built.error().message().ends_with("no reason given"), item,
                      "compile() gives no reason");
      continue;
    }
    std::vector<Tensor> inputs = subject->inputs(seed);
    Expected<std::vector<Tensor>> wanted = evaluate(subject->module, subject->function, inputs);
    Expected<Loaded> loaded = Loaded::load(setup, *built, 1);
    if (!loaded || !wanted) {
      findings.fail(item, loaded ? wanted.error().message() : loaded.error().message());
      continue;
    }
    Expected<std::vector<Tensor>> results = Loaded::Context(*loaded, 1).run(inputs);
    std::string why = results ? differenceOf(*results, *wanted) : results.error().message();
    findings.expect(why.empty(), item, why);
  }
}

} // namespace bycc::conformance
