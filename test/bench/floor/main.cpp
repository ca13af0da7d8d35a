// bench-floor: times the bare primitives of a model, in process: what no program that calls this library
// can beat. See usage() below; list_layers.py writes LAYERS.
//
// --runs 0 ends after the first run: what a start costs, filling weights in place of reading them.
// Each layer is measured in all its forms (Primitives.h), in place between its neighbours, and the
// fastest is taken. --forms FILE keeps the choice: read when it is there, else written.

#include "Net.h"

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

using namespace floor_bench;

namespace {

struct Options {
  std::string layers, type = "f32", forms;
  int threads = 1, runs = 20, warmup = 3;
  bool showLayers = false, control = false;
};

[[noreturn]] void usage(int status) {
  std::fputs("bench-floor LAYERS [--type f32|bf16] [--threads N] [--runs N] [--warmup N] [--forms FILE]\n"
             "            [--layers]\n"
             "bench-floor --control [--threads N] [--runs N]\n"
             "Prints one line of JSON; with --layers, on stderr, a table of layers. --control times a fixed\n"
             "product of matrices instead: whether the machine is as fast as it was.\n",
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
  const std::map<std::string, bool *> flags = {{"--layers", &o.showLayers}, {"--control", &o.control}};
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
  std::snprintf(text, sizeof text, ", \"%smin_ms\": %.4f, \"%sp25_ms\": %.4f, \"%smedian_ms\": %.4f", prefix.c_str(),
                q.minimum, prefix.c_str(), q.quartile, prefix.c_str(), q.median);
  return text;
}

// Milliseconds by layer and form.
using FormTimes = std::vector<std::map<std::string, double>>;

// The forms that the library has, each implementation once. Its reference code counts only where it has
// nothing else: hundreds of times slower, it would leave the caches of its neighbours cold as well.
std::vector<std::string> possibleForms(const Layer &layer) {
  std::vector<std::string> forms, reference;
  std::set<std::string> seen;
  for (const std::string &form : formsOf(layer)) {
    auto made = make(layer, form);
    if (!made || !seen.insert(made->implementation + made->layouts).second)
      continue;
    bool isReference = made->implementation.find("ref") != std::string::npos;
    (isReference ? reference : forms).push_back(form);
  }
  if (forms.empty() && reference.empty())
    fail("the library has no " + layer.kind + " for " + layer.name);
  return forms.empty() ? reference : forms;
}

const double passMs = 100;

// One pass per number of forms: in pass k each layer is in its k-th form (the first when it has fewer).
void measurePass(const std::vector<Layer> &layers, const std::vector<std::vector<std::string>> &possible, size_t pass,
                 FormTimes &best) {
  std::vector<std::string> forms;
  for (const auto &of : possible)
    forms.push_back(of[pass < of.size() ? pass : 0]);
  Net net(layers, forms);
  std::vector<double> times;
  net.run();
  for (double start = milliseconds(); times.empty() || milliseconds() - start < passMs;) {
    net.run(times);
    for (size_t i = 0; i < layers.size(); ++i) {
      auto [at, isNew] = best[i].insert({forms[i], times[i]});
      at->second = std::min(at->second, times[i]);
    }
  }
}

// Two sweeps over all passes, so that a slow moment does not decide.
FormTimes measureForms(const std::vector<Layer> &layers) {
  std::vector<std::vector<std::string>> possible;
  size_t passes = 0;
  for (const Layer &layer : layers) {
    possible.push_back(possibleForms(layer));
    passes = std::max(passes, possible.back().size());
  }
  FormTimes best(layers.size());
  for (int sweep = 0; sweep < 2; ++sweep)
    for (size_t pass = 0; pass < passes; ++pass)
      measurePass(layers, possible, pass, best);
  return best;
}

FormTimes readForms(const std::string &path, const std::vector<Layer> &layers) {
  FormTimes times;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, form;
    words >> name;
    times.emplace_back();
    if (times.size() > layers.size() || name != layers[times.size() - 1].name)
      fail(path + " is not of these layers");
    for (double ms; words >> form >> ms;)
      times.back()[form] = ms;
  }
  if (!times.empty() && times.size() != layers.size())
    fail(path + " is not of these layers");
  return times;
}

void writeForms(const std::string &path, const std::vector<Layer> &layers, const FormTimes &times) {
  std::ofstream file(path);
  for (size_t i = 0; i < layers.size(); ++i) {
    file << layers[i].name;
    for (const auto &[form, ms] : times[i])
      file << " " << form << " " << ms;
    file << "\n";
  }
  if (!file)
    fail("cannot write " + path);
}

FormTimes formTimes(const Options &o, const std::vector<Layer> &layers) {
  FormTimes times;
  if (!o.forms.empty())
    times = readForms(o.forms, layers);
  if (!times.empty())
    return times;
  times = measureForms(layers);
  if (!o.forms.empty())
    writeForms(o.forms, layers, times);
  return times;
}

std::vector<std::string> fastestForms(const FormTimes &times) {
  std::vector<std::string> forms;
  for (const auto &of : times)
    forms.push_back(
        std::min_element(of.begin(), of.end(), [](const auto &a, const auto &b) { return a.second < b.second; })->first);
  return forms;
}

std::string shapeOf(const Layer &layer) {
  std::string text;
  for (const char *key : {"src", "weights", "dst"})
    if (layer.has(key))
      text += (text.empty() ? "" : " ") + layer.text(key).substr(layer.text(key).rfind(':') + 1);
  return text;
}

void printLayers(const std::vector<Layer> &layers, const std::vector<std::string> &forms, const Net &net,
                 const std::vector<double> &minima, const FormTimes &times) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const Made &made = net.made(i);
    std::fprintf(stderr, "%9.4f ms  %-10s %-9s %-28s %s  %s  %s |", minima[i], layers[i].kind.c_str(),
                 forms[i].c_str(), made.implementation.c_str(), made.layouts.c_str(), shapeOf(layers[i]).c_str(),
                 layers[i].name.c_str());
    for (const auto &[form, ms] : times[i])
      std::fprintf(stderr, " %s %.4f", form.c_str(), ms);
    std::fputs("\n", stderr);
  }
}

int runLayers(const Options &o) {
  std::vector<Layer> layers = readLayers(o.layers, o.type);
  FormTimes times = formTimes(o, layers);
  std::vector<std::string> forms = fastestForms(times);
  double start = milliseconds();
  Net net(layers, forms);
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
    net.run(layerTimes);
    double sum = 0;
    for (size_t k = 0; k < layers.size(); ++k) {
      sum += layers[k].isProduct() ? layerTimes[k] : 0;
      minima[k] = std::min(minima[k], layerTimes[k]);
    }
    products.push_back(sum);
  }
  if (o.showLayers)
    printLayers(layers, forms, net, minima, times);
  std::printf("{\"library\": \"%s\", \"type\": \"%s\", \"threads\": %d, \"runs\": %d%s%s, \"make_ms\": %.2f, "
              "\"first_ms\": %.2f}\n",
              libraryVersion().c_str(), o.type.c_str(), o.threads, o.runs, quantileFields("", totals).c_str(),
              quantileFields("products_", products).c_str(), made - start, first - made);
  return 0;
}

// Matrices that fit the second cache: the clock frequency and what neighbours take of the processor.
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
  std::printf("{\"control\": \"sgemm %lld\", \"threads\": %d, \"runs\": %d%s}\n", (long long)n, o.threads, o.runs,
              quantileFields("", times).c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options o = parse(argc, argv);
  omp_set_dynamic(0);
  omp_set_num_threads(o.threads);
  return o.control ? runControl(o) : runLayers(o);
}
