// See Blob.h. Layouts stand once each, in a table before the program.
#include "Blob.h"

#include "CheckProgram.h"
#include "InstructionSet.h"
#include "Library.h"
#include "PlanArchive.h"

#include <map>

namespace bycc::onednn {

template <typename A> void fields(A &archive, LayoutForm::Block &block) {
  archive(block.axis, block.size);
}

template <typename A> void fields(A &archive, LayoutForm &form) {
  archive.choice(form.dtype, endOf<DType>(numDTypes));
  archive(form.dims, form.padded, form.strides, form.inner, form.start, form.extraFlags,
          form.sumMask, form.zeroSumMask, form.scale);
}

template <typename A> void fields(A &archive, Stored &stored) {
  archive(stored.value, stored.form, stored.offset);
}

template <typename A> void fields(A &archive, Buffer &buffer) {
  archive.choice(buffer.place, endOf<Buffer::Place>(Buffer::numPlaces));
  archive(buffer.index, buffer.bytes);
}

template <typename A> void fields(A &archive, Action &action) {
  archive.choice(action.kind, endOf<Action::Kind>(Action::numKinds));
  archive(action.step, action.sum, action.inputs, action.postOperands, action.output,
          action.implementation);
}

namespace {

constexpr vendor::Format blobFormat = {"dnnl region", planVersion};

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
  void put(vendor::Writer &writer, Layout &layout) {
    uint32_t number = none;
    if (std::optional<LayoutForm> form = writtenForm(layout)) {
      auto [entry, isNew] =
          numbers_.try_emplace(keyOfLayout(layout), static_cast<uint32_t>(forms.size()));
      if (isNew)
        forms.push_back(*form);
      number = entry->second;
    }
    writer(number);
  }
  void put(vendor::Reader &reader, Layout &layout) {
    uint32_t number = 0;
    reader(number);
    if (number < layouts.size())
      layout = layouts[number];
    else if (number != none)
      reader.fail("a layout that there is not");
  }
  std::vector<LayoutForm> forms;
  std::vector<Layout> layouts;

private:
  std::map<std::string, uint32_t> numbers_;
};

template <typename A> void put(A &archive, LayoutTable &table, Program &program) {
  archive.list(program.constants, [&](Constant &constant) {
    archive(constant.value, constant.stored, constant.from, constant.step);
    table.put(archive, constant.seen);
    table.put(archive, constant.layout);
  });
  archive(program.buffers);
  archive.list(program.slots, [&](Slot &slot) {
    archive(slot.buffer);
    table.put(archive, slot.layout);
    archive(slot.offset);
  });
  archive(program.actions);
}

template <typename A> void putHead(A &archive, Blob &blob, bool &hasProgram) {
  archive(blob.plan);
  archive.choice(blob.nan, endOf<NanMode>(numNanModes));
  archive(blob.madeWith.library, blob.madeWith.instructionSet, blob.stored, hasProgram);
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
Expected<> readProgram(vendor::Reader &reader, Blob &blob) {
  LayoutTable table;
  reader(table.forms);
  for (const LayoutForm &form : table.forms) {
    std::optional<Layout> layout = BYCC_TRY(writtenLayout(form));
    if (!layout)
      return damaged();
    table.layouts.push_back(*layout);
  }
  Program program;
  put(reader, table, program);
  reader.finish();
  BYCC_TRY(checkProgram(blob.plan, blob.stored, program));
  blob.program = std::move(program);
  return {};
}

} // namespace

Circumstances circumstancesHere() { return {libraryVersion(), instructionSet()}; }

std::vector<uint8_t> writeBlob(const Blob &blob) {
  Blob copy = blob; // one function for both directions wants a mutable blob
  bool hasProgram = copy.program.has_value();
  vendor::Writer writer(blobFormat);
  putHead(writer, copy, hasProgram);
  if (!hasProgram)
    return writer.take();
  LayoutTable table;
  vendor::Writer layoutsOnly(blobFormat); // the table stands before what it is made from
  put(layoutsOnly, table, *copy.program);
  writer(table.forms);
  put(writer, table, *copy.program);
  return writer.take();
}

Expected<Blob> readBlob(std::span<const uint8_t> bytes) {
  try {
    vendor::Reader reader(blobFormat, bytes);
    Blob blob;
    bool hasProgram = false;
    putHead(reader, blob, hasProgram);
    if (!hasProgram)
      reader.finish();
    BYCC_TRY(checkPlan(blob.plan));
    BYCC_TRY(checkStored(blob));
    if (hasProgram && blob.madeWith == circumstancesHere())
      BYCC_TRY(readProgram(reader, blob));
    return blob;
  } catch (const vendor::Failure &failure) {
    return error(Status::Load) << failure.what();
  }
}

} // namespace bycc::onednn
