#include "CallVendor.h"

#include "VendorReply.h"

#include <exception>

namespace bycc {

WorkerAnswer callVendor(const bycc_vendor_compiler &vendor, Question question,
                        const bycc_target &target, const VendorSettings &settings,
                        const bycc_region &region, uint64_t maxBlobBytes, WeightsMemory *weights) {
  VendorReply reply;
  reply.maxBlobBytes = maxBlobBytes;
  if (weights && question == Question::Compile && vendor.flags & BYCC_VENDOR_OWN_WEIGHTS)
    reply.makeWeights = [&](uint64_t bytes) { return weights->take(bytes); };
  bool isCompile = question == Question::Compile || question == Question::Tune;
  auto entry = question == Question::Supports   ? vendor.supports
               : question == Question::Annotate ? vendor.annotate
               : question == Question::Compile  ? vendor.compile
                                                : vendor.tune;
  bycc_target withOptions = target;
  withOptions.num_options = settings.count();
  withOptions.options = settings.attrs();
  WorkerAnswer answer;
  std::string who = isCompile ? "its compile half" : "it";
  try {
    int32_t said = entry(vendor.self, &withOptions, &region, &reply.answer);
    answer.isYes = said == (question == Question::Supports ? 1 : 0);
    answer.reason = reply.why();
  } catch (const std::exception &thrown) {
    answer.reason = who + " threw an exception: " + escaped(thrown.what(), 512);
  } catch (...) {
    answer.reason = who + " threw an exception";
  }
  answer.blamed = reply.blamed;
  answer.isBlobTooLarge = reply.isBlobTooLarge;
  answer.blob = std::move(reply.blob);
  answer.offers = std::move(reply.offers);
  answer.name = std::move(reply.name);
  for (auto &[node, said] : reply.byNode)
    answer.byNode.push_back({node, std::move(said.answer), said.group});
  if (weights)
    answer.weights = weights->finish(answer.isYes && !answer.blob.empty());
  return answer;
}

} // namespace bycc
