// Prices for people and for programs:
//
//   nn.conv2d, groups must be 1: 12 nodes, 0.81 ms of 6.90 ms
//
//   net_dnnl_0 and net_dnnl_1: nn.softmax, axis 1 is not the last one (0.12 ms)
//
//   3 refusals cost nothing and are not listed

#include "bycc/Partition/RefusalPrices.h"

#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace bycc {

namespace {

// Always milliseconds, so that lines compare: two decimals, of small times two digits.
std::string millisecondsText(double us) {
  double ms = us / 1000;
  int decimals = 2;
  if (double size = std::fabs(ms); size > 0 && size < 0.1)
    decimals = std::min(9, 1 - static_cast<int>(std::floor(std::log10(size))));
  char text[64];
  std::snprintf(text, sizeof text, "%.*f ms", decimals, ms);
  return text;
}

std::string titleOf(const RefusalPrices &prices, const RefusalPrice &price) {
  return (prices.hasVendors ? price.vendor + ": " : "") + price.op + ", " + price.reason;
}

std::string boundaryLine(const RefusalPrices &prices, const BoundaryPrice &boundary) {
  std::string line = boundary.first + " and " + boundary.second + ": ";
  if (!boundary.price)
    return line + "no single refusal keeps them apart: " + boundary.why;
  const RefusalPrice &price = prices.prices[*boundary.price];
  line += titleOf(prices, price) + " (" + millisecondsText(price.gainUs) + ")";
  std::vector<std::string> options;
  for (const std::string &dim : boundary.dims)
    options.push_back("--dim " + escaped(dim) + "=..");
  return options.empty() ? line : line + ", or " + join(options, " ");
}

void writePrice(JsonWriter &json, const RefusalPrice &price) {
  json.beginObject().key("vendor").value(price.vendor).key("op").value(price.op);
  json.key("reason").value(price.reason).key("nodes").beginArray();
  for (const std::string &node : price.nodes)
    json.value(node);
  json.endArray()
      .key("gain_us")
      .value(price.gainUs)
      .key("regions")
      .value(price.regions)
      .endObject();
}

void writeBoundary(JsonWriter &json, const RefusalPrices &prices, const BoundaryPrice &boundary) {
  json.beginObject().key("first").value(boundary.first).key("second").value(boundary.second);
  json.key("why").value(boundary.why).key("lift");
  if (boundary.price)
    writePrice(json, prices.prices[*boundary.price]);
  else
    json.null();
  json.key("dims").beginArray();
  for (const std::string &dim : boundary.dims)
    json.value(dim);
  json.endArray().endObject();
}

size_t countGains(const RefusalPrices &prices) {
  return static_cast<size_t>(
      std::ranges::count_if(prices.prices, [](const auto &price) { return price.gainUs > 0; }));
}

} // namespace

void RefusalPrices::nameRegions(const OffloadReport &report) {
  std::vector<BoundaryPrice> named;
  for (const OffloadApart &pair : report.apart) {
    named.push_back(boundaries[pair.index]);
    named.back().first = pair.first;
    named.back().second = pair.second;
  }
  boundaries = std::move(named);
}

std::string RefusalPrices::text() const {
  std::string text;
  size_t gains = countGains(*this), idle = prices.size() - gains;
  for (const RefusalPrice &price : prices)
    if (price.gainUs > 0)
      text += titleOf(*this, price) + ": " +
              counted(static_cast<int64_t>(price.nodes.size()), "node") + ", " +
              millisecondsText(price.gainUs) + " of " + millisecondsText(us) + "\n";
  if (prices.empty())
    text += "no vendor refuses what it could take\n";
  else if (gains == 0)
    text += "no refusal costs anything: the plan would gain nothing\n";
  for (size_t i = 0; i < boundaries.size(); ++i)
    text += (i == 0 ? "\n" : "") + boundaryLine(*this, boundaries[i]) + "\n";
  std::string rest;
  if (gains > 0 && idle > 0)
    rest += counted(static_cast<int64_t>(idle), "refusal") + " would gain nothing and " +
            (idle == 1 ? "is" : "are") + " not listed\n";
  if (numUntried > 0)
    rest += counted(static_cast<int64_t>(numUntried), "refusal") + " of fewer nodes " +
            (numUntried == 1 ? "was" : "were") + " not tried\n";
  return text + (rest.empty() ? "" : "\n" + rest);
}

void writePrices(JsonWriter &json, const RefusalPrices &prices) {
  json.beginObject().key("estimate_us").value(prices.us).key("prices").beginArray();
  for (const RefusalPrice &price : prices.prices)
    if (price.gainUs > 0)
      writePrice(json, price);
  json.endArray().key("boundaries").beginArray();
  for (const BoundaryPrice &boundary : prices.boundaries)
    writeBoundary(json, prices, boundary);
  json.endArray()
      .key("without_gain")
      .value(static_cast<uint64_t>(prices.prices.size() - countGains(prices)));
  json.key("not_tried").value(static_cast<uint64_t>(prices.numUntried)).endObject();
}

std::string RefusalPrices::json() const {
  JsonWriter json;
  writePrices(json, *this);
  return json.take();
}

} // namespace bycc
