#include "bycc/Compiler/WriteModel.h"

#include "KeptParams.h"

#include "bycc/Compiler/OutputForms.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Messages.h"

#include <filesystem>

namespace bycc {

Expected<> addObjectFiles(OutputSet &files, const CompiledModel &model,
                          const std::string &objectPath, const std::string &stem) {
  BYCC_TRY(files.add(objectPath, model.object));
  BYCC_TRY(files.add(stem + ".json", model.graphJson));
  BYCC_TRY(files.add(stem + ".h", model.header));
  if (model.params.empty())
    return {};
  if (areParamsKept(model.params))
    return files.addSame(stem + ".params", model.params.keptPath(), model.params.pieces());
  return files.add(stem + ".params", model.params.pieces());
}

static void removeParams(const std::string &stem) {
  std::error_code ignored;
  std::filesystem::remove(stem + ".params", ignored);
}

void settleParams(const CompiledModel &model, const std::string &stem) {
  if (model.params.empty())
    removeParams(stem);
  else
    keepParams(model.params, stem + ".params");
}

Expected<> writeModel(const CompiledModel &model, const std::string &stem) {
  bool hasObject = !model.object.empty();
  OutputSet files(hasObject ? model.setId : "");
  if (hasObject)
    BYCC_TRY(addObjectFiles(files, model, stem + ".o", stem));
  for (const OutputFormInfo &form : outputForms())
    if (form.text && !(model.*form.text).empty() && !(hasObject && form.form == OutputForm::Header))
      BYCC_TRY(files.add(stem + form.suffix, model.*form.text));
  BYCC_TRY(files.commit(hasObject ? stem + ".json" : ""));
  if (hasObject)
    settleParams(model, stem);
  return {};
}

static Expected<GraphSet> setOf(std::string_view graphJson, const std::string &file) {
  JsonValue root = BYCC_TRY(parseJson(graphJson, file));
  const JsonValue *bycc = root.find("bycc");
  if (!bycc || !isSealed(graphJson))
    return error(Status::Load, {file}).as(MessageId::NotOurGraph)
           << "is no graph JSON of bycc, or was edited";
  return readGraphSet(*bycc, file);
}

Expected<> writeModel(const ModelBytes &model, const std::string &stem) {
  std::string name = fileNameOf(stem), graphPath = stem + ".json";
  if (name.empty() || name == "." || name == "..")
    return error(Status::Io, {stem}) << "is no name for files";
  GraphSet set = BYCC_TRY(setOf(model.graphJson, graphPath));
  std::string graph = withFileNames(std::string(model.graphJson), name + ".o", name + ".params");
  OutputSet files(hexText(set.setId));
  BYCC_TRY(files.add(stem + ".o", model.object));
  BYCC_TRY(files.add(graphPath, graph));
  if (!model.header.empty())
    BYCC_TRY(files.add(stem + ".h", model.header));
  if (!model.params.empty())
    BYCC_TRY(files.add(stem + ".params", model.params));
  BYCC_TRY(files.commit(graphPath));
  if (model.params.empty())
    removeParams(stem);
  return {};
}

} // namespace bycc
