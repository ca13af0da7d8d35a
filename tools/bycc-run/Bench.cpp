#include "Bench.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sys/resource.h>

namespace bycc::run {
namespace {

struct BenchResult {
  std::string model;
  double loadMs = 0, minMs = 0, medianMs = 0, meanMs = 0, p90Ms = 0, p99Ms = 0;
  int64_t runs = 0, threads = 0;
  double peakRssMb = 0;
};

// The smallest value that at least `part` of the sorted values do not exceed.
double percentile(const std::vector<double> &sorted, double part) {
  auto rank = static_cast<size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

Expected<std::vector<double>> timedRuns(Session &session, const Options &options) {
  for (int64_t i = 0; i < options.warmup; ++i)
    BYCC_TRY(session.run());
  int64_t least = options.runs.value_or(options.seconds > 0 ? 1 : 50);
  std::vector<double> times;
  double end = millisecondsNow(), until = end + options.seconds * 1000;
  while (static_cast<int64_t>(times.size()) < least || end < until) {
    double begin = millisecondsNow();
    BYCC_TRY(session.run());
    end = millisecondsNow();
    times.push_back(end - begin);
  }
  return times;
}

// The process's own: what getrusage says begins with what its parent had.
double peakRssMb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::strtod(line.c_str() + 6, nullptr) / 1024;
  rusage usage; // without /proc
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string modelName(const std::string &path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".json") ? name.substr(0, name.size() - 5) : name;
}

// To `parts` of a unit; prints short.
double rounded(double value, double parts) { return std::round(value * parts) / parts; }

std::string asJson(const BenchResult &r) {
  JsonWriter writer;
  writer.beginObject().key("model").value(r.model);
  auto ms = [&](const char *name, double value) { writer.key(name).value(rounded(value, 1e4)); };
  ms("load_ms", r.loadMs);
  ms("min_ms", r.minMs);
  ms("median_ms", r.medianMs);
  ms("mean_ms", r.meanMs);
  ms("p90_ms", r.p90Ms);
  ms("p99_ms", r.p99Ms);
  writer.key("runs").value(r.runs).key("threads").value(r.threads);
  writer.key("peak_rss_mb").value(rounded(r.peakRssMb, 10)).endObject();
  return writer.take();
}

void printTable(const BenchResult &r) {
  int width = static_cast<int>(std::max<size_t>(5, r.model.size()));
  std::printf("%-*s %9s %9s %9s %9s %9s %9s %6s %7s %11s\n", width, "model", "load_ms", "min_ms",
              "median_ms", "mean_ms", "p90_ms", "p99_ms", "runs", "threads", "peak_rss_mb");
  std::printf("%-*s %9.3f %9.4f %9.4f %9.4f %9.4f %9.4f %6lld %7lld %11.1f\n", width,
              escaped(r.model).c_str(), r.loadMs, r.minMs, r.medianMs, r.meanMs, r.p90Ms, r.p99Ms,
              static_cast<long long>(r.runs), static_cast<long long>(r.threads), r.peakRssMb);
}

Expected<> writeText(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return {};
  }
  OutputSet files;
  BYCC_TRY(files.add(path, text));
  return files.commit();
}

void printRow(const char *indent, const bycc_profile_entry &entry, double totalNs,
              size_t sourceWidth = 200) {
  std::string label = indent + escaped(entry.name, 60);
  if (entry.detail[0])
    label += " [" + escaped(entry.detail, 60) + "]";
  double ns = static_cast<double>(entry.total_ns), calls = static_cast<double>(entry.calls);
  char gflops[32] = "-"; // it moves data, or nobody has counted
  if (ns > 0 && entry.flops > 0)
    std::snprintf(gflops, sizeof gflops, "%.2f", entry.flops * calls / ns);
  std::printf("%8llu %11.4f %6.1f %9s  %-44s %s\n", static_cast<unsigned long long>(entry.calls),
              ns / 1e6 / std::max(calls, 1.0), totalNs > 0 ? 100 * ns / totalNs : 0, gflops,
              label.c_str(), escaped(entry.source, sourceWidth).c_str());
}

// Region `r` is the node that carries its symbol.
int32_t regionOf(const bycc_module &module, const bycc_profile_entry &entry) {
  for (uint32_t r = 0; r < module.num_regions; ++r)
    if (std::string_view(entry.name) == module.regions[r].symbol)
      return static_cast<int32_t>(r);
  return -1;
}

// The steps of a node that is a region.
std::vector<bycc_profile_entry> stepsOf(const bycc_module &module, const bycc_profile_entry &node,
                                        std::span<const bycc_profile_entry> entries) {
  std::vector<bycc_profile_entry> steps;
  int32_t region = regionOf(module, node);
  for (const bycc_profile_entry &step : entries)
    if (region >= 0 && step.region == region)
      steps.push_back(step);
  return steps;
}

void printShares(const bycc_module &module, std::span<const bycc_profile_entry> entries,
                 double totalNs) {
  double inRegions = 0, inReorders = 0;
  for (const bycc_profile_entry &entry : entries) {
    if (entry.region < 0 && regionOf(module, entry) >= 0)
      inRegions += static_cast<double>(entry.total_ns);
    if (entry.region >= 0 && std::string_view(entry.name) == "reorder")
      inReorders += static_cast<double>(entry.total_ns);
  }
  auto share = [&](double ns) { return totalNs > 0 ? 100 * ns / totalNs : 0; };
  std::printf("regions %.1f %% (reorders %.1f %%), host %.1f %% of the measured time\n",
              share(inRegions), share(inReorders), share(totalNs - inRegions));
}

void printProfile(const bycc_module &module, std::span<const bycc_profile_entry> entries) {
  double total = 0;
  for (const bycc_profile_entry &entry : entries)
    total += entry.region < 0 ? static_cast<double>(entry.total_ns) : 0;
  std::printf("%8s %11s %6s %9s  %-44s %s\n", "calls", "ms/call", "%", "GFLOP/s", "node", "source");
  for (const bycc_profile_entry &entry : entries) {
    if (entry.region >= 0)
      continue;
    std::vector<bycc_profile_entry> steps = stepsOf(module, entry, entries);
    printRow("", entry, total, steps.empty() ? 200 : 60); // the steps name their own
    for (const bycc_profile_entry &step : steps)
      printRow("  ", step, total);
  }
  printShares(module, entries, total);
}

// What viewers call a row.
void nameRow(JsonWriter &writer, int64_t row, const char *name) {
  writer.beginObject().key("name").value("thread_name").key("ph").value("M").key("pid").value(1);
  writer.key("tid").value(row).key("args").beginObject().key("name").value(name).endObject();
  writer.endObject();
}

// Complete events in microseconds; steps on a row of their own.
std::string chromeTrace(std::span<const bycc_profile_entry> entries) {
  JsonWriter writer;
  writer.beginObject().key("traceEvents").beginArray();
  nameRow(writer, 1, "kernels and regions");
  nameRow(writer, 2, "steps of regions");
  for (const bycc_profile_entry &entry : entries) {
    if (entry.calls == 0)
      continue;
    writer.beginObject().key("name").value(entry.name).key("ph").value("X");
    writer.key("cat").value(entry.region < 0 ? "node" : "step").key("pid").value(1);
    writer.key("tid").value(entry.region < 0 ? 1 : 2);
    writer.key("ts").value(static_cast<double>(entry.last_begin_ns) / 1e3);
    writer.key("dur").value(static_cast<double>(entry.total_ns) / 1e3);
    writer.key("args").beginObject().key("source").value(entry.source);
    writer.key("detail").value(entry.detail).key("flops").value(entry.flops).endObject();
    writer.endObject();
  }
  writer.endArray().key("displayTimeUnit").value("ms").endObject();
  return writer.take();
}

} // namespace

double millisecondsNow() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Expected<> bench(Session &session, const Options &options, double loadMs) {
  std::vector<double> times = BYCC_TRY(timedRuns(session, options));
  std::sort(times.begin(), times.end());
  BenchResult result;
  result.model = modelName(options.graph);
  result.loadMs = loadMs;
  result.minMs = times.front();
  result.medianMs = percentile(times, 0.5);
  result.meanMs = std::accumulate(times.begin(), times.end(), 0.0) / times.size();
  result.p90Ms = percentile(times, 0.9);
  result.p99Ms = percentile(times, 0.99);
  result.runs = times.size();
  result.threads = session.threads();
  result.peakRssMb = peakRssMb();
  if (!options.json.empty())
    return writeText(options.json, asJson(result));
  printTable(result);
  return {};
}

Expected<> profile(Session &session, const Options &options) {
  for (int64_t i = 0; i < options.warmup; ++i)
    BYCC_TRY(session.run());
  BYCC_TRY(session.setProfile(true));
  for (int64_t i = 0; i < options.runs.value_or(10); ++i)
    BYCC_TRY(session.run());
  printProfile(session.module(), BYCC_TRY(session.profile()));
  if (!options.traceFile.empty()) {
    BYCC_TRY(session.setProfile(true)); // afresh: a trace shows one run
    BYCC_TRY(session.run());
    BYCC_TRY(writeText(options.traceFile, chromeTrace(BYCC_TRY(session.profile()))));
  }
  return session.setProfile(false);
}

} // namespace bycc::run
