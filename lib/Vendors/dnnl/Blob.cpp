// See Blob.h. Layouts stand once each, in a table before the program.
#include "Blob.h"

#include "Archive.h"
#include "CheckProgram.h"
#include "InstructionSet.h"
#include "Library.h"

#include <map>

namespace bycc::onednn {

namespace {

constexpr uint32_t blobMagic = 0x31424e44; // "DNB1"
constexpr uint32_t blobVersion = 2;

template <typename A> void fields(A &archive, LayoutForm &form) {
  archive.enumeration(form.dtype, numDTypes);
  for (Dims *dims : {&form.dims, &form.padded, &form.strides})
    integers(archive, *dims);
  archive.list(form.inner, [&](LayoutForm::Block &block) {
    archive.integer(block.axis);
    archive.integer(block.size);
  });
  archive.integer(form.start);
  archive.integer(form.extraFlags);
  archive.integer(form.sumMask);
  archive.integer(form.zeroSumMask);
  archive.number(form.scale);
}

template <typename A> void fields(A &archive, Stored &stored) {
  archive.integer(stored.value);
  fields(archive, stored.form);
  archive.integer(stored.offset);
}

// `any` is written as a form with extents alone.
std::optional<LayoutForm> writtenForm(const Layout &layout) {
  if (!isLayout(layout) || !isAny(layout))
    return isLayout(layout) ? formOf(layout) : std::nullopt;
  LayoutForm open;
  open.dtype = dtypeOf(layout);
  open.dims = dimsOf(layout);
  return open;
}

Expected<std::optional<Layout>> writtenLayout(const LayoutForm &form) {
  if (form.strides.empty()) {
    BYCC_TRY(checkDims(form.dims, form.dtype));
    return std::optional<Layout>(anyLayout(form.dims, form.dtype));
  }
  BYCC_TRY(checkForm(form));
  return layoutOf(form);
}

// Layouts by number. None at all (a Layout()) is `none`.
class LayoutTable {
public:
  void put(Writer &writer, Layout &layout) {
    uint32_t number = none;
    if (std::optional<LayoutForm> form = writtenForm(layout)) {
      auto [entry, isNew] =
          numbers_.try_emplace(keyOfLayout(layout), static_cast<uint32_t>(forms.size()));
      if (isNew)
        forms.push_back(*form);
      number = entry->second;
    }
    writer.integer(number);
  }
  void put(Reader &reader, Layout &layout) {
    uint32_t number = 0;
    reader.integer(number);
    if (number < layouts.size())
      layout = layouts[number];
    else if (number != none)
      reader.fail();
  }
  std::vector<LayoutForm> forms;
  std::vector<Layout> layouts;

private:
  std::map<std::string, uint32_t> numbers_;
};

template <typename A> void fields(A &archive, LayoutTable &table, Program &program) {
  archive.list(program.constants, [&](Constant &constant) {
    for (uint32_t *number : {&constant.value, &constant.stored, &constant.from, &constant.step})
      archive.integer(*number);
    table.put(archive, constant.seen);
    table.put(archive, constant.layout);
  });
  archive.list(program.buffers, [&](Buffer &buffer) {
    archive.enumeration(buffer.place, Buffer::numPlaces);
    archive.integer(buffer.index);
    archive.integer(buffer.bytes);
  });
  archive.list(program.slots, [&](Slot &slot) {
    archive.integer(slot.buffer);
    table.put(archive, slot.layout);
    archive.integer(slot.offset);
  });
  archive.list(program.actions, [&](Action &action) {
    archive.enumeration(action.kind, Action::numKinds);
    archive.integer(action.step);
    archive.integer(action.sum);
    integers(archive, action.inputs);
    integers(archive, action.postOperands);
    archive.integer(action.output);
    archive.text(action.implementation);
  });
}

template <typename A> void head(A &archive, Blob &blob) {
  archive.enumeration(blob.nan, numNanModes);
  archive.text(blob.madeWith.library);
  archive.text(blob.madeWith.instructionSet);
  archive.list(blob.stored, [&](Stored &stored) { fields(archive, stored); });
}

Error damaged() { return error(Status::Load) << "dnnl region is damaged"; }

Expected<> checkStored(const Blob &blob) {
  for (const Stored &stored : blob.stored) {
    BYCC_TRY(checkForm(stored.form));
    if (stored.value >= blob.plan.values.size())
      return damaged();
    const Value &value = blob.plan.values[stored.value];
    if (value.dims != stored.form.dims || value.dtype != stored.form.dtype)
      return damaged();
  }
  return {};
}

// A program of another library or machine is not looked at: its layouts may not exist here.
Expected<> readProgram(Reader &reader, Blob &blob) {
  LayoutTable table;
  reader.list(table.forms, [&](LayoutForm &form) { fields(reader, form); });
  if (!reader.ok())
    return damaged();
  for (const LayoutForm &form : table.forms) {
    std::optional<Layout> layout = BYCC_TRY(writtenLayout(form));
    if (!layout)
      return damaged();
    table.layouts.push_back(*layout);
  }
  Program program;
  fields(reader, table, program);
  if (!reader.ok() || !reader.atEnd())
    return damaged();
  BYCC_TRY(checkProgram(blob.plan, blob.stored, program));
  blob.program = std::move(program);
  return {};
}

} // namespace

Circumstances circumstancesHere() { return {libraryVersion(), instructionSet()}; }

std::vector<uint8_t> writeBlob(const Blob &blob) {
  Writer writer;
  Blob copy = blob; // one function for both directions wants a mutable blob
  writeHead(writer, blobMagic, blobVersion);
  std::vector<uint8_t> plan = writePlan(blob.plan);
  integers(writer, plan);
  head(writer, copy);
  uint8_t hasProgram = copy.program.has_value();
  writer.integer(hasProgram);
  if (!hasProgram)
    return std::move(writer.bytes);
  LayoutTable table;
  Writer body;
  fields(body, table, *copy.program);
  writer.list(table.forms, [&](LayoutForm &form) { fields(writer, form); });
  writer.bytes.insert(writer.bytes.end(), body.bytes.begin(), body.bytes.end());
  return std::move(writer.bytes);
}

Expected<Blob> readBlob(std::span<const uint8_t> bytes) {
  Reader reader(bytes);
  BYCC_TRY(readHead(reader, blobMagic, blobVersion, "dnnl region"));
  Blob blob;
  std::vector<uint8_t> plan;
  integers(reader, plan);
  head(reader, blob);
  uint8_t hasProgram = 0;
  reader.integer(hasProgram);
  if (!reader.ok() || hasProgram > 1 || (!hasProgram && !reader.atEnd()))
    return damaged();
  blob.plan = BYCC_TRY(readPlan(plan));
  BYCC_TRY(checkPlan(blob.plan));
  BYCC_TRY(checkStored(blob));
  if (hasProgram && blob.madeWith == circumstancesHere())
    BYCC_TRY(readProgram(reader, blob));
  return blob;
}

} // namespace bycc::onednn
