// The compile half: bycc loads this into the compiler. It answers for nodes and
// turns a region into a command stream. It never touches the device.
#include "device.h"
#include "translate.h"

#include <cstdlib>
#include <map>
#include <set>
#include <unistd.h>

extern "C" const char examplenpu_patterns[]; // the text of examplenpu.json

namespace examplenpu {

namespace {

using kit::Refusal;

// --- for trying out what happens when a vendor says no or fails

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

// Is the name in EXAMPLENPU_REFUSE=nn.dense,conv_7?
void expectNotRefused(std::string_view name) {
  if (("," + environment("EXAMPLENPU_REFUSE") + ",").find(kit::text(",", name, ",")) != std::string::npos)
    throw Refusal(name, " is in EXAMPLENPU_REFUSE");
}

// For the node, and what is inside of a composite. The model's names count at compile()
// only: an answer of supports() must not depend on them.
void expectNotRefused(kit::Node node, bool byName) {
  expectNotRefused(node.op());
  if (byName)
    expectNotRefused(node.source());
  if (node.isComposite())
    for (kit::Node inner : node.body().nodes())
      expectNotRefused(inner, byName);
}

// --- a whole region

class StreamWriter {
public:
  StreamWriter(kit::Region region, uint64_t heapBytes) : region_(region), heapBytes_(heapBytes) {}

  kit::Bytes run() {
    int32_t number = 0;
    for (kit::Value value : region_.inputs()) {
      stream_.inputs.push_back(bufferOf(value));
      addCopy(Code::CopyIn, stream_.inputs.back(), number++);
    }
    for (kit::Node node : region_.nodes())
      kit::blaming(node, [&] { addNode(node); });
    number = 0;
    for (kit::Value value : region_.outputs()) {
      stream_.outputs.push_back(bufferOf(value));
      addCopy(Code::CopyOut, stream_.outputs.back(), number++);
    }
    placeBuffers();
    return kit::write(streamFormat, stream_);
  }

private:
  void addCopy(Code code, uint32_t buffer, int32_t which) {
    Command command{code, buffer};
    command.p[0] = which;
    stream_.commands.push_back(command);
  }

  void addNode(kit::Node node) {
    expectNotRefused(node, true);
    Work work = translate(node);
    Command &command = work.command;
    command.a = bufferOf(work.a);
    command.b = bufferOf(work.b);
    command.c = bufferOf(work.c);
    command.out = bufferOf(work.out);
    if (command.code == Code::Conv2d) {
      command.p[Pointwise] = node.implementation() == "pointwise"; // chosen from what supports() offered
      command.p[Tile] = tunedTile();
    }
    stream_.commands.push_back(command);
  }

  // What tune() found, one tile per convolution in order; 4 when it was not asked.
  int32_t tunedTile() {
    uint32_t index = numConvs_++;
    auto tiles = region_.tuning();
    return index < tiles.size() && tiles[index] ? tiles[index] : 4;
  }

  uint32_t bufferOf(std::optional<kit::Value> value) {
    if (!value)
      return noBuffer;
    auto number = static_cast<uint32_t>(stream_.buffers.size());
    auto [found, isNew] = buffers_.try_emplace(&value->raw(), number);
    if (isNew)
      stream_.buffers.push_back({value->bytes(), 0, value->raw().weights_offset, value->isConstant()});
    return found->second;
  }

  // Weights stay; of the others those share memory that are not used at the same time.
  void placeBuffers() {
    std::vector<kit::Buffer> lives(stream_.buffers.size());
    for (uint32_t i = 0; i < stream_.commands.size(); ++i)
      for (const Command &command = stream_.commands[i];
           uint32_t buffer : {command.a, command.b, command.c, command.out})
        if (buffer != noBuffer && !stream_.buffers[buffer].isWeight)
          lives[buffer].use(i);
    for (size_t i = 0; i < lives.size(); ++i)
      lives[i].bytes = stream_.buffers[i].bytes;
    stream_.runBytes = kit::planArena(lives);
    for (size_t i = 0; i < lives.size(); ++i) {
      Buffer &buffer = stream_.buffers[i];
      buffer.offset = buffer.isWeight ? stream_.weightBytes : lives[i].offset;
      if (buffer.isWeight)
        stream_.weightBytes += kit::aligned(buffer.bytes);
    }
    checkMemory();
  }

  // What does not fit is known here, so that it need not fail when the model runs. Some
  // is held back for values between regions.
  void checkMemory() const {
    constexpr uint64_t reserve = 4096;
    uint64_t needed = stream_.weightBytes + stream_.runBytes;
    if (needed + reserve > heapBytes_)
      throw Refusal("it needs ", needed, " bytes of device memory, the device has ", heapBytes_, " with ", reserve,
                    " in reserve");
  }

  const kit::Region region_;
  const uint64_t heapBytes_;
  Stream stream_;
  std::map<const bycc_value *, uint32_t> buffers_;
  uint32_t numConvs_ = 0;
};

// --- what bycc asks

struct Compiler {
  // One node.
  void supports(const kit::Question &question) {
    expectNotRefused(question.node(), false);
    for (const Way &way : waysToRun(translate(question.node())))
      question.offer(way.name, way.microseconds);
  }

  kit::Bytes compile(const kit::Question &question) {
    std::string failure = environment("EXAMPLENPU_FAIL");
    if (failure == "abort")
      std::abort();
    while (failure == "hang")
      sleep(1);
    if (failure == "compile")
      throw Refusal("EXAMPLENPU_FAIL says so");
    return StreamWriter(question.region, heapBytes(question.options)).run();
  }

  // A whole block (used with EXAMPLENPU_ANNOTATE=1).
  //
  // Asked node by node, a vendor cannot see that an operator stands alone. Here the
  // heavy operators are taken first, then those that something taken feeds: an
  // elementwise operator alone is not worth a trip to the device.
  void annotate(const kit::Question &question) {
    std::set<uint32_t> onDevice; // values
    for (kit::Node node : question.region.nodes()) {
      try {
        expectNotRefused(node, false);
        Code code = translate(node).command.code;
        bool isFed = std::ranges::any_of(node.inputs(), [&](kit::Value value) { return onDevice.count(value.index()) > 0; });
        if (code != Code::Conv2d && code != Code::Dense && !isFed)
          throw Refusal("nothing before it runs on the device");
        question.take(node); // in no group: regions as bycc finds them
        for (kit::Value value : node.outputs())
          onDevice.insert(value.index());
      } catch (const Refusal &refusal) {
        question.refuse(node, refusal.what());
      }
    }
  }

  // The best tile of each convolution, by trying them on the device.
  kit::Bytes tune(const kit::Question &question) {
    kit::Bytes tiles;
    for (kit::Node node : question.region.nodes()) {
      Command command = translate(node).command;
      uint8_t best = 1;
      for (uint8_t tile : {2, 4, 8, 16, 32})
        if (command.code == Code::Conv2d && convCycles(command, tile) < convCycles(command, best))
          best = tile;
      if (command.code == Code::Conv2d)
        tiles.push_back(best);
    }
    return tiles;
  }
};

// --vendor-option examplenpu.heap=65536 when a model is compiled.
constexpr bycc_vendor_option options[] = {heapOption};

kit::About about() {
  kit::About about = aboutNpu;
  about.patterns = examplenpu_patterns;
  about.flags = BYCC_VENDOR_OWN_MEMORY;
  about.options = options;
  return about;
}

} // namespace

} // namespace examplenpu

BYCC_VENDOR_EXPORT const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  using namespace examplenpu;
  static Compiler half;
  static bycc_vendor_compiler table = kit::compilerTable(about(), half);
  if (environment("EXAMPLENPU_ANNOTATE").empty())
    table.annotate = nullptr;
  return &table;
}
