#include "Options.h"

#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace bycc::python {
namespace {

struct Option {
  const char *name;
  const char *wanted; // said of a bad value
  std::function<bool(CompileRequest &, const std::string &)> set;
};

template <typename Get> auto text(Get get) {
  return [get](CompileRequest &request, const std::string &value) {
    get(request) = value;
    return true;
  };
}
template <typename Get> auto list(Get get) {
  return [get](CompileRequest &request, const std::string &value) {
    get(request).push_back(value);
    return true;
  };
}
template <typename Get> auto commaList(Get get) {
  return [get](CompileRequest &request, const std::string &value) {
    for (const std::string &part : split(value, ','))
      get(request).push_back(part);
    return true;
  };
}
template <typename Get> auto pairs(char separator, Get get) {
  return [get, separator](CompileRequest &request, const std::string &value) {
    size_t at = value.rfind(separator);
    if (at == std::string::npos || at == 0 || at + 1 == value.size())
      return false;
    get(request).emplace_back(value.substr(0, at), value.substr(at + 1));
    return true;
  };
}
template <typename Get> auto flag(Get get) {
  return [get](CompileRequest &request, const std::string &value) {
    get(request) = true;
    return value.empty();
  };
}
template <typename Get> auto oneOf(std::vector<std::string> values, Get get) {
  return [get, values](CompileRequest &request, const std::string &value) {
    get(request) = value;
    return std::ranges::find(values, value) != values.end();
  };
}
template <typename Get> auto integer(int64_t least, int64_t most, Get get) {
  return [get, least, most](CompileRequest &request, const std::string &value) {
    auto number = parseInt(value);
    if (!number || *number < least || *number > most)
      return false;
    get(request) = static_cast<std::decay_t<decltype(get(request))>>(*number);
    return true;
  };
}
template <typename Get> auto real(double above, Get get) {
  return [get, above](CompileRequest &request, const std::string &value) {
    auto number = parseDouble(value);
    if (!number || !(*number >= above))
      return false;
    get(request) = *number;
    return true;
  };
}

bool setLikely(CompileRequest &request, const std::string &value) {
  for (const std::string &part : split(value, ',')) {
    size_t at = part.rfind('=');
    auto extent = at == std::string::npos ? std::nullopt : parseInt(part.substr(at + 1));
    if (at == 0 || !extent || *extent < 1 || *extent > (int64_t{1} << 40))
      return false;
    request.input.likely[part.substr(0, at)] = *extent;
  }
  return true;
}

// clang-format off
#define MEMBER(member) [](CompileRequest &request) -> auto & { return request.member; }
const std::vector<Option> options = {
    {"O", "0, 1, 2 or 3", integer(0, 3, MEMBER(passes.level))},
    {"annotate", "V1[,V2...]", text(MEMBER(vendors.annotate))},
    {"annotate-ops", "LIST", commaList(MEMBER(vendors.annotateOps))},
    {"annotate-skip-ops", "LIST", commaList(MEMBER(vendors.annotateSkipOps))},
    {"cost-model", "none or static", oneOf({"none", "static"}, MEMBER(vendors.costModel))},
    {"dim", "NAME=N", pairs('=', MEMBER(input.dims))},
    {"disable-pass", "a pass", list(MEMBER(passes.disabled))},
    {"embed-weights", "no value", flag(MEMBER(code.embedWeights))},
    {"hand-annotations", "ask or trust", [](CompileRequest &request, const std::string &value) {
       request.vendors.trustsHand = value == "trust";
       return value == "ask" || value == "trust";
     }},
    {"j", "a number from 1 to 1024", integer(1, 1024, MEMBER(code.jobs))},
    {"likely", "NAME=N[,NAME=N], N from 1", setLikely},
    {"mattr", "LIST", text(MEMBER(target.attributes))},
    {"mcpu", "NAME or native", text(MEMBER(target.cpu))},
    {"min-region-flops", "a number from 0", real(0, MEMBER(vendors.minRegionFlops))},
    {"min-region-ops", "a number from 0", integer(0, INT64_MAX, MEMBER(vendors.minRegionOps))},
    {"module-name", "a name", text(MEMBER(code.moduleName))},
    {"nan", "keep or fast", oneOf({"keep", "fast"}, MEMBER(target.nan))},
    {"opt-bisect-limit", "a number from -1", integer(-1, INT64_MAX, MEMBER(passes.bisectLimit))},
    {"params", "PATH", list(MEMBER(input.params))},
    {"partition-plan", "a file", text(MEMBER(vendors.plan))},
    {"passes", "LIST", text(MEMBER(passes.passes))},
    {"patterns", "a file", list(MEMBER(vendors.patterns))},
    {"pin", "NODE=VENDOR or NODE=host", pairs('=', MEMBER(vendors.pins))},
    {"plugin", "a file", list(MEMBER(vendors.plugins))},
    {"precision", "f32 or bf16", oneOf({"f32", "bf16"}, MEMBER(target.precision))},
    {"precision-rules", "a file", text(MEMBER(target.precisionRules))},
    {"require-pass", "a pass", list(MEMBER(passes.required))},
    {"rules", "a file", list(MEMBER(vendors.rules))},
    {"run-after", "P:NEW", pairs(':', MEMBER(passes.runAfter))},
    {"run-before", "P:NEW", pairs(':', MEMBER(passes.runBefore))},
    {"search", "a number from 0", integer(0, INT64_MAX, MEMBER(vendors.search.emplace()))},
    {"shape", "NAME=1x3x224", pairs('=', MEMBER(input.shapes))},
    {"strict", "no value", flag(MEMBER(vendors.strict))},
    {"target", "TRIPLE", text(MEMBER(target.triple))},
    {"threads", "a number from 1 to 1024", integer(1, 1024, MEMBER(code.threads))},
    {"tune", "a file", text(MEMBER(vendors.tune))},
    {"vendor-timeout", "a number above 0", real(1e-3, MEMBER(vendors.timeoutSeconds))},
    {"verify-each", "no value", flag(MEMBER(passes.verifyEach))},
    {"x", "onnx, relay or json", oneOf({"onnx", "relay", "json"}, MEMBER(input.format))},
};
#undef MEMBER
// clang-format on

} // namespace

std::vector<std::string> optionNames() {
  std::vector<std::string> names;
  for (const Option &option : options)
    names.emplace_back(option.name);
  return names;
}

Expected<> setOption(CompileRequest &request, const std::string &name, const std::string &value) {
  auto option =
      std::ranges::find(options, name, [](const Option &o) { return std::string(o.name); });
  if (option == options.end())
    return error(Status::Usage) << "there is no option '" << escaped(name) << "'"
                                << didYouMean(name, optionNames());
  if (!option->set(request, value))
    return error(Status::Usage) << name << ": bad value '" << escaped(value) << "', it takes "
                                << option->wanted;
  return {};
}

} // namespace bycc::python
