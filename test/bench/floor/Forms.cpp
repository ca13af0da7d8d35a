#include "Forms.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace floor_bench {

namespace {

using FormTimes = std::vector<std::map<std::string, double>>;

// The forms that the library has, each implementation once. Its reference code counts only where it
// has nothing else: hundreds of times slower, it would leave the caches of its neighbours cold as
// well.
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

// One pass per number of forms: in pass k each layer is in its k-th form (the first when it has
// fewer).
void measurePass(const std::vector<Layer> &layers,
                 const std::vector<std::vector<std::string>> &possible, size_t pass,
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

std::string fastestForm(const std::map<std::string, double> &times) {
  auto isLess = [](const auto &a, const auto &b) { return a.second < b.second; };
  return std::min_element(times.begin(), times.end(), isLess)->first;
}

// Each layer in the form that starts with `layout`, else in its fastest.
std::vector<std::string> formsLike(const FormTimes &times, const std::string &layout) {
  std::vector<std::string> forms;
  for (const auto &of : times) {
    forms.push_back(fastestForm(of));
    if (of.count(layout) != 0)
      forms.back() = layout;
  }
  return forms;
}

double fastestRun(const std::vector<Layer> &layers, const std::vector<std::string> &forms) {
  Net net(layers, forms);
  net.run();
  double best = 1e30;
  for (double start = milliseconds(), begin = start; begin - start < passMs || best == 1e30;) {
    net.run();
    double end = milliseconds();
    best = std::min(best, end - begin);
    begin = end;
  }
  return best;
}

// The fastest form of each layer, or one layout throughout when that is faster as a whole: what a
// layer leaves in the caches is not in its own time.
Choice choose(const std::vector<Layer> &layers) {
  Choice choice{measureForms(layers), {}};
  const char *layouts[] = {"", "any", "last", "blocked"};
  double best[] = {1e30, 1e30, 1e30, 1e30};
  for (int sweep = 0; sweep < 2; ++sweep)
    for (size_t i = 0; i < 4; ++i)
      best[i] = std::min(best[i], fastestRun(layers, formsLike(choice.times, layouts[i])));
  choice.forms = formsLike(choice.times, layouts[std::min_element(best, best + 4) - best]);
  return choice;
}

// A line per layer: its name, the form chosen, and each form with its milliseconds.
Choice readForms(const std::string &path, const std::vector<Layer> &layers) {
  Choice choice;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, chosen, form;
    words >> name >> chosen;
    if (choice.forms.size() == layers.size() || name != layers[choice.forms.size()].name)
      fail(path + " is not of these layers");
    choice.forms.push_back(chosen);
    choice.times.emplace_back();
    for (double ms; words >> form >> ms;)
      choice.times.back()[form] = ms;
  }
  if (!choice.forms.empty() && choice.forms.size() != layers.size())
    fail(path + " is not of these layers");
  return choice;
}

void writeForms(const std::string &path, const std::vector<Layer> &layers, const Choice &choice) {
  std::ofstream file(path);
  for (size_t i = 0; i < layers.size(); ++i) {
    file << layers[i].name << " " << choice.forms[i];
    for (const auto &[form, ms] : choice.times[i])
      file << " " << form << " " << ms;
    file << "\n";
  }
  if (!file)
    fail("cannot write " + path);
}

} // namespace

Choice choiceOf(const std::string &path, const std::vector<Layer> &layers) {
  Choice choice;
  if (!path.empty())
    choice = readForms(path, layers);
  if (!choice.forms.empty())
    return choice;
  choice = choose(layers);
  if (!path.empty())
    writeForms(path, layers, choice);
  return choice;
}

} // namespace floor_bench
