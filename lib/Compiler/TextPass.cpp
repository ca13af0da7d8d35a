#include "bycc/Compiler/TextPass.h"

#include "RestoreOrigins.h"
#include "bycc/IR/Infer.h"
#include "bycc/IR/Printer.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Support/ChildProgram.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/PluginPass.h"
#include "bycc/Transforms/Pipeline.h"

#include <algorithm>
#include <map>

namespace bycc {
namespace {

std::string textOf(const Module &module, const TextForm &form) {
  if (form.isJson)
    return printProgramJson(module, {.origins = true, .givenConstants = !form.hasConstantData});
  PrintOptions print;
  print.origins = print.showTypes = print.showSources = true;
  print.givenConstants = !form.hasConstantData;
  return printModule(module, print);
}

// What the world outside knows of a program.
struct Interface {
  std::vector<std::pair<std::string, TypeId>> params;
  TypeId result;
};

Interface interfaceOf(const Module &module) {
  Interface interface;
  if (!module.main())
    return interface;
  const Function &main = module.function(module.main());
  for (NodeId param : main.params)
    interface.params.emplace_back(module.string(module.node(param).name), module.type(param));
  interface.result = module.type(module.block(main.body).result);
  return interface;
}

std::string textOf(const Module &module, const Interface &interface) {
  std::vector<std::string> params;
  for (const auto &[name, type] : interface.params)
    params.push_back("%" + name + ": " + module.types.str(type));
  return "(" + join(params, ", ") + ") -> " +
         (interface.result ? module.types.str(interface.result) : "?");
}

Expected<> checkInterface(const Module &module, const Interface &before, const std::string &who) {
  Interface after = interfaceOf(module);
  if (after.params == before.params &&
      (after.result == before.result ||
       (after.result && before.result && isAssignable(module, after.result, before.result))))
    return {};
  return (error(Status::Input) << who << ": @main comes back as " << textOf(module, after))
      .note("it was " + textOf(module, before));
}

// Facts are what later passes make; a program that comes back has no new ones.
Expected<> checkFacts(const Module &module, const std::vector<std::string> &before,
                      const std::string &who) {
  for (const std::string &fact : factsOf(module))
    if (std::ranges::find(before, fact) == before.end())
      return error(Status::Input) << who << ": the program comes back with " << fact
                                  << ", which bycc's own passes make";
  return {};
}

// Regions that vendors have: they may be compiled already, so what is inside is theirs.
std::map<std::string, std::string> regionsOf(const Module &module) {
  PrintOptions print;
  print.origins = print.givenConstants = true;
  std::map<std::string, std::string> regions;
  for (FunctionId function : module.globals())
    if (module.functionAttr(function, "Compiler") && module.functionAttr(function, "global_symbol"))
      regions[std::string(module.string(module.function(function).name))] =
          printFunction(module, function, print);
  return regions;
}

Expected<> checkRegions(const Module &module, const std::map<std::string, std::string> &before,
                        const std::string &who) {
  for (const auto &[name, text] : regionsOf(module))
    if (auto found = before.find(name); found == before.end() || found->second != text)
      return (error(Status::Input)
              << who << ": @" << name << " comes back changed, a region that its vendor has")
          .note("a pass that changes regions stands before merge-composite");
  return {};
}

} // namespace

Expected<bool> runTextPass(Module &module, PassContext &context, const TextForm &form,
                           const std::string &who, const TextPassFn &pass) {
  if (context.composites && !context.isPlanChosen)
    return error(Status::Usage) << who
                                << " cannot run between merge-composite and choose-plan: "
                                   "composites that could be formed stand beside the nodes";
  std::string sent = textOf(module, form);
  std::string text = BYCC_TRY(pass(sent, context));
  if (text == sent)
    return false;
  std::vector<std::string> facts = factsOf(module);
  Interface interface = interfaceOf(module);
  std::map<std::string, std::string> regions = regionsOf(module);
  RestoreOrigins restore(module);
  module.removeGlobalsIf(std::vector<uint8_t>(module.numFunctions(), 1));
  ParseOptions parse;
  parse.base = &module;
  parse.origins = &restore.origins();
  parse.warnings = &context.warnings;
  std::string name = "<what " + who + " sends back>";
  Expected<Module> parsed =
      form.isJson ? parseProgramJson(text, name, parse) : parseRelay(text, name, parse);
  if (!parsed) {
    module = Module();
    Error failure = parsed.takeError();
    failure.diagnostics().front().notes.push_back({{},
                                                   "all that is sent back is read as the program: "
                                                   "what is to be printed goes to standard error"});
    return failure;
  }
  module = parsed.takeValue();
  restore.run(module);
  BYCC_TRY(checkInterface(module, interface, who));
  BYCC_TRY(checkFacts(module, facts, who));
  BYCC_TRY(checkRegions(module, regions, who));
  return true;
}

PassInfo textPass(std::string name, int level, std::string description, TextForm form,
                  TextPassFn pass) {
  PassInfo info;
  info.name = name;
  info.description = std::move(description);
  info.level = level;
  info.needs = {"!annotations"};
  info.run = [who = "pass '" + name + "'", form, pass = std::move(pass)](Module &module,
                                                                         PassContext &context) {
    return runTextPass(module, context, form, who, pass);
  };
  return info;
}

namespace {

// What it says on its standard error is for -v.
Expected<std::string> runFilter(const ChildProgram &child, const std::string &who,
                                const std::string &text, PassContext &context) {
  ChildOutput output = BYCC_TRY(runChildProgram(child, text));
  for (const std::string &line : split(output.messages, '\n'))
    if (!line.empty())
      context.remarks.push_back(who + ": " + escaped(line));
  return std::move(output.text);
}

// It runs in bycc-worker, so that one that crashes is one that failed.
Expected<Extensions::Pass> passOfPlugin(const bycc_pass &pass, const std::string &plugin,
                                        const PassRegistry &registry) {
  SourceLocation file;
  file.file = plugin;
  PassPlace place{pass.before ? PassPlace::Side::Before : PassPlace::Side::After,
                  pass.before  ? pass.before
                  : pass.after ? pass.after
                               : ""};
  if (registry.find(pass.name))
    return error(Status::Load, file) << "there is a pass '" << pass.name << "' already";
  if (!place.pass.empty() && !registry.find(place.pass))
    return error(Status::Load, file) << "pass '" << pass.name << "' stands beside '"
                                     << escaped(place.pass) << "', which is no pass";
  std::string who = "pass '" + std::string(pass.name) + "'";
  auto run = [plugin, who, name = std::string(pass.name)](
                 const std::string &text, PassContext &context) -> Expected<std::string> {
    ChildProgram child;
    child.program = workerProgram();
    child.arguments = {"pass", plugin, name};
    child.proceed = context.proceed;
    Expected<std::string> result = runFilter(child, who, text, context);
    if (result || result.error().status() == Status::Cancelled)
      return result;
    Error failure = result.takeError();
    failure.diagnostics().front().location.file = plugin; // it is not bycc-worker's fault
    failure.diagnostics().front().message = who + ": " + failure.diagnostics().front().message;
    return failure;
  };
  TextForm form{(pass.form & BYCC_PASS_JSON) != 0, (pass.form & BYCC_PASS_DATA) != 0};
  constexpr int never = 4;
  return Extensions::Pass{textPass(pass.name, place.pass.empty() ? never : pass.level,
                                   pass.description ? pass.description : "", form, run),
                          place};
}

struct PipeOptions {
  ChildProgram child;
  TextForm form;
};

Expected<bool> oneOf(const PassContext &context, const char *key, const char *usual,
                     const char *other) {
  std::string value = context.option(key, usual);
  if (value != usual && value != other)
    return error(Status::Usage) << "pass 'pipe': " << key << " is " << usual << " or " << other
                                << ", not '" << escaped(value) << "'";
  return value == other;
}

Expected<PipeOptions> pipeOptions(const PassContext &context) {
  PipeOptions options;
  options.child.program = context.option("program");
  if (options.child.program.empty())
    return error(Status::Usage) << "pass 'pipe' needs a program: pipe{./mypass.py}";
  if (size_t blank = options.child.program.find(' ');
      blank != std::string::npos && !pathExists(options.child.program))
    return (error(Status::Usage) << "pass 'pipe': there is no program '"
                                 << escaped(options.child.program) << "'")
        .note("arguments and options follow a comma: "
              "pipe{/usr/bin/python3,args=./mypass.py,timeout=5}");
  if (options.child.program.find('/') == std::string::npos && !pathExists(options.child.program))
    return (error(Status::Arg) << "pass 'pipe': there is no file '"
                               << escaped(options.child.program) << "'")
        .note("a program is a path, which is not looked up in $PATH");
  for (const std::string &word : split(context.option("args"), ' '))
    if (!word.empty())
      options.child.arguments.push_back(word);
  std::string timeout = context.option("timeout", "60");
  auto seconds = parseDouble(timeout);
  if (!seconds || !(*seconds > 0))
    return error(Status::Usage) << "pass 'pipe': timeout is a number of seconds, not '"
                                << escaped(timeout) << "'";
  options.child.timeoutSeconds = *seconds;
  options.child.proceed = context.proceed;
  options.form.isJson = BYCC_TRY(oneOf(context, "form", "relay", "json"));
  options.form.hasConstantData = BYCC_TRY(oneOf(context, "constants", "given", "data"));
  return options;
}

} // namespace

Expected<bool> pipeThroughProgram(Module &module, PassContext &context) {
  PipeOptions options = BYCC_TRY(pipeOptions(context));
  std::string who = "pipe{" + fileNameOf(options.child.program) + "}";
  auto run = [&](const std::string &text, PassContext &own) {
    return runFilter(options.child, who, text, own);
  };
  return runTextPass(module, context, options.form, who, run);
}

Expected<std::vector<Extensions::Pass>> passesOfPlugins(const std::vector<std::string> &plugins,
                                                        const PassRegistry &registry) {
  std::vector<Extensions::Pass> passes;
  for (const std::string &plugin : plugins)
    for (const bycc_pass *pass : BYCC_TRY(pluginPasses(plugin)))
      passes.push_back(BYCC_TRY(passOfPlugin(*pass, plugin, registry)));
  return passes;
}

} // namespace bycc
