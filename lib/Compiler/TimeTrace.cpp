#include "bycc/Compiler/TimeTrace.h"

#include "bycc/Support/Json.h"

namespace bycc {

std::string TimeTrace::json() const {
  auto microseconds = [](Clock::duration duration) {
    return static_cast<int64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
  };
  JsonWriter json;
  json.beginObject().key("traceEvents").beginArray();
  for (const Span &span : spans_) {
    json.beginObject().key("name").value(span.name).key("cat").value(span.kind).key("ph").value(
        "X");
    json.key("ts")
        .value(microseconds(span.begin - start_))
        .key("dur")
        .value(microseconds(span.end - span.begin));
    json.key("pid").value(1).key("tid").value(span.lane).endObject();
  }
  json.endArray().key("displayTimeUnit").value("ms").endObject();
  return json.take();
}

} // namespace bycc
