// bench-floor: times the bare primitives of a model, in process: what no program that calls this
// library can beat. See usage() below; list_layers.py writes LAYERS.
// --runs 0 ends after the first run: what a start costs, filling weights in place of reading them.
// Each layer is measured in all its forms (Primitives.h), in place between its neighbours, and the
// fastest is taken. --forms FILE keeps the choice: read when it is there, else written.

#include "Forms.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

// Of libgomp, whose header belongs to one compiler.
extern "C" {
void omp_set_dynamic(int dynamic);
void omp_set_num_threads(int threads);
}

using namespace floor_bench;

namespace {

struct Options {
  std::string layers, type = "f32", forms;
  int threads = 1, runs = 20, warmup = 3;
  bool showLayers = false, products = false, control = false;
};

[[noreturn]] void usage(int status) {
  std::fputs(
      "bench-floor LAYERS [--type f32|bf16] [--threads N] [--runs N] [--warmup N] [--forms FILE]\n"
      "            [--products] [--layers]\n"
      "bench-floor --control [--threads N] [--runs N]\n"
      "Prints one line of JSON; --products: also what convolutions and products take alone;\n"
      "--layers: on stderr, a table of layers. --control times a fixed product of matrices "
      "instead:\n"
      "whether the machine is as fast as it was.\n",
      status == 0 ? stdout : stderr);
  std::exit(status);
}

int number(const char *text) {
  char *end = nullptr;
  long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 0)
    usage(2);
  return int(value);
}

Options parse(int argc, char **argv) {
  Options o;
  const std::map<std::string, int *> numbers = {
      {"--threads", &o.threads}, {"--runs", &o.runs}, {"--warmup", &o.warmup}};
  const std::map<std::string, std::string *> texts = {{"--type", &o.type}, {"--forms", &o.forms}};
  const std::map<std::string, bool *> flags = {
      {"--layers", &o.showLayers}, {"--products", &o.products}, {"--control", &o.control}};
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help")
      usage(0);
    if (flags.count(name))
      *flags.at(name) = true;
    else if (numbers.count(name) && i + 1 < argc)
      *numbers.at(name) = number(argv[++i]);
    else if (texts.count(name) && i + 1 < argc)
      *texts.at(name) = argv[++i];
    else if (name[0] != '-' && o.layers.empty())
      o.layers = name;
    else
      usage(2);
  }
  if (o.control != o.layers.empty() || o.threads < 1 || (o.type != "f32" && o.type != "bf16"))
    usage(2);
  return o;
}

struct Quantiles {
  double minimum, quartile, median;
};

Quantiles quantilesOf(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[0], times[times.size() / 4], times[times.size() / 2]};
}

std::string quantileFields(const std::string &prefix, const std::vector<double> &times) {
  if (times.empty())
    return "";
  Quantiles q = quantilesOf(times);
  char text[200];
  std::snprintf(text, sizeof text,
                ", \"%smin_ms\": %.4f, \"%sp25_ms\": %.4f, \"%smedian_ms\": %.4f", prefix.c_str(),
                q.minimum, prefix.c_str(), q.quartile, prefix.c_str(), q.median);
  return text;
}

std::string shapeOf(const Layer &layer) {
  std::string text;
  for (const char *key : {"src", "weights", "dst"})
    if (layer.has(key))
      text += (text.empty() ? "" : " ") + layer.text(key).substr(layer.text(key).rfind(':') + 1);
  return text;
}

void printLayers(const std::vector<Layer> &layers, const Choice &choice, const Net &net,
                 const std::vector<double> &minima) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const Made &made = net.made(i);
    std::fprintf(stderr, "%9.4f ms  %-10s %-9s %-28s %s  %s  %s |", minima[i],
                 layers[i].kind.c_str(), choice.forms[i].c_str(), made.implementation.c_str(),
                 made.layouts.c_str(), shapeOf(layers[i]).c_str(), layers[i].name.c_str());
    for (const auto &[form, ms] : choice.times[i])
      std::fprintf(stderr, " %s %.4f", form.c_str(), ms);
    std::fputs("\n", stderr);
  }
}

int runLayers(const Options &o) {
  std::vector<Layer> layers = readLayers(o.layers, o.type);
  Choice choice = choiceOf(o.forms, layers);
  double start = milliseconds();
  Net net(layers, choice.forms);
  double made = milliseconds();
  net.run();
  double first = milliseconds();
  for (int i = 0; i < o.warmup; ++i)
    net.run();
  // Totals come from runs of their own: a clock reading per layer counts in the smallest models.
  std::vector<double> totals, products, layerTimes, minima(layers.size(), 1e30);
  for (int i = 0; i < o.runs; ++i) {
    double begin = milliseconds();
    net.run();
    totals.push_back(milliseconds() - begin);
    if (!o.products && !o.showLayers)
      continue;
    net.run(layerTimes);
    double sum = 0;
    for (size_t k = 0; k < layers.size(); ++k) {
      sum += layers[k].isProduct() ? layerTimes[k] : 0;
      minima[k] = std::min(minima[k], layerTimes[k]);
    }
    products.push_back(sum);
  }
  if (o.showLayers)
    printLayers(layers, choice, net, minima);
  std::printf("{\"library\": \"%s\", \"type\": \"%s\", \"threads\": %d, \"runs\": %d%s%s, "
              "\"make_ms\": %.2f, "
              "\"first_ms\": %.2f}\n",
              libraryVersion().c_str(), o.type.c_str(), o.threads, o.runs,
              quantileFields("", totals).c_str(), quantileFields("products_", products).c_str(),
              made - start, first - made);
  return 0;
}

// Matrices that fit the second cache: the clock frequency and what neighbours take of the
// processor.
int runControl(const Options &o) {
  const int64_t n = 384;
  std::vector<float> a(n * n, 1.f / n), b(n * n, 0.5f), c(n * n);
  std::vector<double> times;
  for (int i = 0; i < o.runs + 2; ++i) {
    double begin = milliseconds();
    dnnl_sgemm('N', 'N', n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
    if (i >= 2)
      times.push_back(milliseconds() - begin);
  }
  std::printf("{\"control\": \"sgemm %lld\", \"threads\": %d, \"runs\": %d%s}\n", (long long)n,
              o.threads, o.runs, quantileFields("", times).c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options o = parse(argc, argv);
  omp_set_dynamic(0);
  omp_set_num_threads(o.threads);
  return o.control ? runControl(o) : runLayers(o);
}
