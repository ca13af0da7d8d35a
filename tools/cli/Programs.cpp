#include "Programs.h"

namespace bycc::cli {
namespace {

const std::vector<Described> exitCodes = {
    {"0", "done"},
    {"1", "refused or failed, with the status in the message"},
    {"2", "bad command line"},
    {"3", "policy not met (--strict, --min-offload, --expect-regions)"},
    {"70", "internal error"},
};
const std::vector<Described> byccExitCodes = {
    exitCodes[0], exitCodes[1], exitCodes[2], exitCodes[3], {"4", "results differ (verify)"},
    exitCodes[4],
};

const std::vector<Described> environment = {
    {"BYCC_PLUGIN_PATH", "folders, separated by ':', in which vendor plugins are looked for, "
                         "before ../lib/bycc beside the program"},
};

} // namespace

const ProgramTexts &byccTexts() {
  static const ProgramTexts texts = {
      "bycc",
      "compile a neural network, parts of it for vendors' libraries",
      {"bycc [check|inspect|extract|pattern|reduce|verify] MODEL [-o OUT.o] [options]",
       "bycc view net.json [-o net.html]", "bycc plan-diff A.json B.json [--json]",
       "bycc explain [BY0123]"},
      {
          {"bycc net.onnx --annotate=dnnl -o net.o",
           "compile; net.json, net.h, net.params go with it"},
          {"bycc-run net.json --random --bench", "run what was compiled"},
          {"bycc inspect net.onnx", "inputs, outputs, operators, FLOPs"},
          {"bycc net.onnx --annotate=dnnl --explain", "where each operator went, and why"},
          {"bycc verify net.onnx --annotate=dnnl",
           "is it still the same program? Else who is at fault"},
      },
      {"bycc compiles a neural network: model in, object file and graph JSON out.",
       "MODEL is .onnx, .relay, .json or - for standard input."},
      {
          {"check MODEL", "list every operator that is not supported; --annotate=V --prices lists "
                          "what each refusal of the vendors costs"},
          {"inspect MODEL", "inputs, outputs, operators, parameters, FLOPs"},
          {"extract MODEL --region=SYMBOL -o r.relay",
           "one region as a program; --inputs or --random records its inputs in r.inputs, "
           "r.expected"},
          {"pattern MODEL --nodes=A,B..C --vendor=V",
           "a pattern for V's file from nodes of a model; --check lists where else it matches"},
          {"reduce MODEL --script=./fails.sh -o small.relay",
           "the smallest program that still fails: the script is run with the path of a candidate "
           "and ends with 0 when that one fails, too"},
          {"verify MODEL --annotate=V [--inputs=DIR|--random=SEED]",
           "whether the outputs are those of the program at -O0 without vendors, and which region, "
           "node or pass makes the difference"},
          {"view net.json",
           "one offline page of a compiled model; --profile-data=F adds what a run took"},
          {"plan-diff A.json B.json", "what moved between two saved plans"},
          {"explain BY0123", "one message: why, an example, what to do; without a number, all"},
      },
      byccExitCodes,
      environment,
      {"bycc-opt(1)", "bycc-run(1)"},
      "",
  };
  return texts;
}

const ProgramTexts &byccOptTexts() {
  static const ProgramTexts texts = {
      "bycc-opt",
      "run passes of bycc on Relay text",
      {"bycc-opt FILE [-o OUT] [passes and options]"},
      {
          {"bycc-opt net.relay", "parse, check and print"},
          {"bycc-opt net.relay --fold-constants --fuse-ops", "two passes, in this order"},
          {"bycc-opt net.relay -O2 -o out.relay", "the default list of a level"},
          {"bycc-opt net.relay -O0 --annotate=dnnl", "partition, and nothing else"},
          {"bycc-opt net.relay -O2 --print-changed=diff", "what each pass changes"},
      },
      {"bycc-opt reads Relay text, runs passes and prints Relay text. Each pass is also a flag "
       "(--fold-constants), run "
       "in the order given; without any it parses, checks and prints. With -ON the default list of "
       "that level runs."},
      {},
      exitCodes,
      environment,
      {"bycc(1)", "bycc-run(1)"},
      "list-passes",
  };
  return texts;
}

} // namespace bycc::cli
