#include "bycc/Compiler.h"

#include "Compilation.h"
#include "bycc/Compiler/KnownVendors.h"
#include "bycc/Support/FaultHandler.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>

namespace bycc {
namespace {

// Exceptions and faults stop here.
template <typename T, typename Work> Expected<T> guarded(Work work) {
  ThrowFaults throwFaults;
  try {
    return work();
  } catch (const Fault &fault) {
    return Expected<T>(error(Status::Internal).note(faultNote) << fault.text);
  } catch (const std::bad_alloc &) {
    return Expected<T>(error(Status::Limit) << "there is not enough memory");
  } catch (const std::system_error &thrown) {
    return Expected<T>(error(Status::Limit)
                       << "the system refuses what is needed: " << thrown.what());
  } catch (const std::exception &thrown) {
    return Expected<T>(error(Status::Internal).note(faultNote) << "exception: " << thrown.what());
  }
}

// Where passes may stand: what some default list has.
std::vector<std::string> placesOf(const std::vector<Extensions::Pass> &own) {
  PassRegistry registry;
  registerAllPasses(registry);
  std::vector<std::string> places;
  for (bool hasPlan : {false, true}) {
    PipelineWishes wishes;
    wishes.hasVendors = wishes.hasOrders = wishes.isWrittenByHand = wishes.isMixed = true;
    wishes.hasPlan = hasPlan;
    for (const PipelineEntry &entry : defaultPipeline(registry, 3, wishes))
      places.push_back(entry.pass);
  }
  for (const Extensions::Pass &pass : own)
    places.push_back(pass.info.name);
  return places;
}

Expected<> checkIsNew(const std::string &vendor, const Extensions &extensions) {
  auto known =
      BYCC_TRY(knownVendors({}, extensions, [](const std::string &) { return Expected<>(); }));
  if (known.has(vendor))
    return error(Status::Usage) << "there is a vendor '" << escaped(vendor) << "' already";
  return {};
}

} // namespace

const Frontend *Extensions::findFrontend(std::string_view name) const {
  auto found = std::ranges::find(frontends, name, &Frontend::name);
  return found == frontends.end() ? nullptr : &*found;
}

const Frontend *Extensions::frontendFor(std::string_view model, std::string_view bytes) const {
  for (const Frontend &frontend : frontends)
    if (std::ranges::any_of(frontend.suffixes,
                            [&](const std::string &suffix) { return model.ends_with(suffix); }))
      return &frontend;
  for (const Frontend &frontend : frontends)
    if (frontend.recognises && frontend.recognises(bytes))
      return &frontend;
  return nullptr;
}

std::string ModelParams::bytes() const {
  std::string whole;
  whole.reserve(sizeBytes());
  for (std::string_view piece : pieces_)
    whole += piece;
  return whole;
}

Expected<> Compiler::addPass(PassInfo pass, PassPlace place) {
  PassRegistry registry;
  registerAllPasses(registry);
  for (const Extensions::Pass &own : extensions_.passes)
    registry.add(own.info);
  if (registry.find(pass.name))
    return error(Status::Usage) << "there is a pass '" << escaped(pass.name) << "' already";
  if (!pass.run)
    return error(Status::Usage) << "pass '" << escaped(pass.name) << "' has no function";
  std::vector<std::string> places = placesOf(extensions_.passes);
  if (std::ranges::find(places, place.pass) == places.end())
    return error(Status::Usage) << "pass '" << escaped(pass.name)
                                << "': no default list has the pass '" << escaped(place.pass) << "'"
                                << didYouMean(place.pass, places);
  extensions_.passes.push_back({std::move(pass), std::move(place)});
  return {};
}

Expected<> Compiler::addVendor(const bycc_vendor_compiler &vendor) {
  VendorRegistry registry({});
  BYCC_TRY(registry.addTable(&vendor, "the program"));
  BYCC_TRY(checkIsNew(vendor.name, extensions_));
  extensions_.vendors.push_back(&vendor);
  return {};
}

Expected<> Compiler::addVendor(std::string text, std::string name) {
  std::unique_ptr<Vendor> vendor = BYCC_TRY(readVendorFile(text, name));
  BYCC_TRY(checkIsNew(vendor->name(), extensions_));
  extensions_.described.push_back({std::move(text), std::move(name)});
  return {};
}

Expected<> Compiler::addPatterns(std::string text, std::string name) {
  VendorFile file = BYCC_TRY(VendorFile::parse(text, name));
  Vendor scratch(file.vendor);
  BYCC_TRY(file.applyTo(scratch));
  extensions_.patterns.push_back({std::move(text), std::move(name)});
  return {};
}

Expected<> Compiler::addFrontend(Frontend frontend) {
  std::vector<std::string> taken = {"onnx", "relay", "json"};
  for (const Frontend &own : extensions_.frontends)
    taken.push_back(own.name);
  if (std::ranges::find(taken, frontend.name) != taken.end())
    return error(Status::Usage) << "there is a frontend '" << escaped(frontend.name) << "' already";
  if (frontend.name.empty() || !frontend.read)
    return error(Status::Usage) << "a frontend needs a name and a function that reads";
  extensions_.frontends.push_back(std::move(frontend));
  return {};
}

Expected<CompiledModel> Compiler::compile(const CompileRequest &request) const {
  return guarded<CompiledModel>(
      [&] { return std::make_unique<Compilation>(request, extensions_)->run(); });
}

Expected<std::string> Compiler::pipelineText(const CompileRequest &request) const {
  return guarded<std::string>([&]() -> Expected<std::string> {
    auto session = std::make_unique<Session>(request, extensions_);
    BYCC_TRY(session->prepare());
    return printPipeline(BYCC_TRY(session->pipeline()));
  });
}

const char *versionText() { return BYCC_VERSION; }

} // namespace bycc
