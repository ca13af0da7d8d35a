#include "DiagnosticsDocument.h"

#include "bycc/Compiler.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/Json.h"

namespace bycc {
namespace {

void writePlace(JsonWriter &json, const SourceLocation &place) {
  if (!place.file.empty())
    json.key("file").value(place.file);
  if (place.line > 0)
    json.key("line").value(place.line);
  if (place.column > 0)
    json.key("column").value(place.column);
  if (!place.node.empty())
    json.key("node").value(place.node);
  if (!place.nodeOp.empty())
    json.key("node_op").value(place.nodeOp);
}

void writeSarifPlace(JsonWriter &json, const SourceLocation &place) {
  json.beginObject();
  if (!place.file.empty()) {
    json.key("physicalLocation").beginObject().key("artifactLocation").beginObject();
    json.key("uri").value(place.file).endObject();
    if (place.line > 0) {
      json.key("region").beginObject().key("startLine").value(place.line);
      if (place.column > 0)
        json.key("startColumn").value(place.column);
      json.endObject();
    }
    json.endObject();
  }
  if (!place.node.empty())
    json.key("logicalLocations")
        .beginArray()
        .beginObject()
        .key("name")
        .value(place.node)
        .endObject()
        .endArray();
  json.endObject();
}

bool isKnown(const SourceLocation &place) { return !place.file.empty() || !place.node.empty(); }

} // namespace

void DiagnosticsDocument::add(const Error &error) {
  for (const Diagnostic &diagnostic : error.diagnostics())
    entries_.push_back({"error", diagnostic});
}

void DiagnosticsDocument::add(const Message &message) {
  Diagnostic diagnostic;
  diagnostic.location = message.location;
  diagnostic.message = message.text;
  entries_.push_back({message.isRemark ? "remark" : "warning", std::move(diagnostic)});
}

std::string DiagnosticsDocument::json() const {
  JsonWriter json;
  json.beginObject().key("diagnostics").beginArray();
  for (const Entry &entry : entries_) {
    const Diagnostic &diagnostic = entry.diagnostic;
    json.beginObject().key("severity").value(entry.severity);
    if (entry.severity == std::string_view("error"))
      json.key("status").value(name(diagnostic.status));
    if (std::string number = text(diagnostic.id); !number.empty())
      json.key("id").value(number);
    json.key("message").value(diagnostic.message);
    writePlace(json, diagnostic.location);
    if (!diagnostic.excerpt.empty())
      json.key("excerpt").value(diagnostic.excerpt);
    if (!diagnostic.notes.empty()) {
      json.key("notes").beginArray();
      for (const Note &note : diagnostic.notes) {
        json.beginObject().key("message").value(note.text);
        writePlace(json, note.location);
        json.endObject();
      }
      json.endArray();
    }
    json.endObject();
  }
  return json.endArray().endObject().take();
}

std::string DiagnosticsDocument::sarif() const {
  JsonWriter json;
  json.beginObject().key("$schema").value("https://json.schemastore.org/sarif-2.1.0.json");
  json.key("version").value("2.1.0").key("runs").beginArray().beginObject();
  json.key("tool").beginObject().key("driver").beginObject();
  json.key("name").value("bycc").key("version").value(versionText()).endObject().endObject();
  json.key("results").beginArray();
  for (const Entry &entry : entries_) {
    const Diagnostic &diagnostic = entry.diagnostic;
    bool isError = entry.severity == std::string_view("error");
    std::string whole = diagnostic.message, number = text(diagnostic.id);
    for (const Note &note : diagnostic.notes)
      whole += "\n" + note.text;
    json.beginObject().key("level").value(isError ? "error"
                                          : entry.severity == std::string_view("warning")
                                              ? "warning"
                                              : "note");
    if (isError)
      json.key("ruleId").value(number.empty() ? name(diagnostic.status) : std::string_view(number));
    json.key("message").beginObject().key("text").value(whole).endObject();
    if (isKnown(diagnostic.location)) {
      json.key("locations").beginArray();
      writeSarifPlace(json, diagnostic.location);
      json.endArray();
    }
    json.endObject();
  }
  return json.endArray().endObject().endArray().endObject().take();
}

void DiagnosticsDocument::print(std::string_view format) const {
  std::string text = format == "json" ? json() : sarif();
  std::fputs((text + (text.ends_with('\n') ? "" : "\n")).c_str(), stderr);
}

int refuseLine(const std::string &program, const Error &error, std::string_view format) {
  if (format == "json" || format == "sarif") {
    DiagnosticsDocument document;
    document.add(error);
    document.print(format);
    return exitCode(error.status());
  }
  std::string number = text(error.diagnostics().front().id);
  bool isLine = error.status() == Status::Usage; // its status is the name of the program
  std::string said =
      isLine ? program + ": " + error.message() + (number.empty() ? "" : " [" + number + "]") + "\n"
             : error.str();
  if (isLine)
    for (const Note &note : error.diagnostics().front().notes)
      said += "note: " + note.text + "\n";
  std::fputs(said.c_str(), stderr);
  return exitCode(error.status());
}

} // namespace bycc
