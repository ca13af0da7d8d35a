#include "bycc/Compiler/WriteModel.h"

#include "bycc/Compiler/OutputForms.h"

#include <filesystem>

namespace bycc {

Expected<> addObjectFiles(OutputSet &files, const CompiledModel &model,
                          const std::string &objectPath, const std::string &stem) {
  BYCC_TRY(files.add(objectPath, model.object));
  BYCC_TRY(files.add(stem + ".json", model.graphJson));
  BYCC_TRY(files.add(stem + ".h", model.header));
  if (!model.params.empty())
    BYCC_TRY(files.add(stem + ".params", model.params.pieces()));
  return {};
}

void removeStaleParams(const CompiledModel &model, const std::string &stem) {
  std::error_code ignored;
  if (model.params.empty())
    std::filesystem::remove(stem + ".params", ignored);
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
    removeStaleParams(model, stem);
  return {};
}

} // namespace bycc
