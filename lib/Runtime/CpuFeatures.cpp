// A table from LLVM's names of x86 features to CPUID bits, and to the register
// state the system must save for them (XCR0). It must hold every feature that
// LLVM reports for `native`, or an object built for this very machine would be
// refused.
#include "bycc/Runtime/CpuFeatures.h"

#include "bycc/Support/Text.h"

#include <array>
#include <cpuid.h>
#include <cstdint>
#include <optional>

namespace bycc::runtime {
namespace {

enum Register : uint8_t { Eax, Ebx, Ecx, Edx };
enum State : uint8_t { NoState, AvxState, Avx512State, AmxState };

struct Feature {
  std::string_view name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint8_t bit;
  State state = NoState;
};

constexpr uint32_t extended = 0x80000000;

constexpr Feature features[] = {
    {"cx8", 1, 0, Edx, 8},
    {"cmov", 1, 0, Edx, 15},
    {"mmx", 1, 0, Edx, 23},
    {"fxsr", 1, 0, Edx, 24},
    {"x87", 1, 0, Edx, 0},
    {"sse", 1, 0, Edx, 25},
    {"sse2", 1, 0, Edx, 26},
    {"sse3", 1, 0, Ecx, 0},
    {"pclmul", 1, 0, Ecx, 1},
    {"ssse3", 1, 0, Ecx, 9},
    {"cx16", 1, 0, Ecx, 13},
    {"fma", 1, 0, Ecx, 12, AvxState},
    {"sse4.1", 1, 0, Ecx, 19},
    {"sse4.2", 1, 0, Ecx, 20},
    {"crc32", 1, 0, Ecx, 20},
    {"movbe", 1, 0, Ecx, 22},
    {"popcnt", 1, 0, Ecx, 23},
    {"aes", 1, 0, Ecx, 25},
    {"xsave", 1, 0, Ecx, 27},
    {"avx", 1, 0, Ecx, 28, AvxState},
    {"f16c", 1, 0, Ecx, 29, AvxState},
    {"rdrnd", 1, 0, Ecx, 30},
    {"fsgsbase", 7, 0, Ebx, 0},
    {"sgx", 7, 0, Ebx, 2},
    {"bmi", 7, 0, Ebx, 3},
    {"avx2", 7, 0, Ebx, 5, AvxState},
    {"bmi2", 7, 0, Ebx, 8},
    {"invpcid", 7, 0, Ebx, 10},
    {"rtm", 7, 0, Ebx, 11},
    {"avx512f", 7, 0, Ebx, 16, Avx512State},
    {"evex512", 7, 0, Ebx, 16, Avx512State},
    {"avx512dq", 7, 0, Ebx, 17, Avx512State},
    {"rdseed", 7, 0, Ebx, 18},
    {"adx", 7, 0, Ebx, 19},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512State},
    {"clflushopt", 7, 0, Ebx, 23},
    {"clwb", 7, 0, Ebx, 24},
    {"avx512pf", 7, 0, Ebx, 26, Avx512State},
    {"avx512er", 7, 0, Ebx, 27, Avx512State},
    {"avx512cd", 7, 0, Ebx, 28, Avx512State},
    {"sha", 7, 0, Ebx, 29},
    {"avx512bw", 7, 0, Ebx, 30, Avx512State},
    {"avx512vl", 7, 0, Ebx, 31, Avx512State},
    {"prefetchwt1", 7, 0, Ecx, 0},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512State},
    {"pku", 7, 0, Ecx, 4},
    {"waitpkg", 7, 0, Ecx, 5},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512State},
    {"shstk", 7, 0, Ecx, 7},
    {"gfni", 7, 0, Ecx, 8},
    {"vaes", 7, 0, Ecx, 9, AvxState},
    {"vpclmulqdq", 7, 0, Ecx, 10, AvxState},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512State},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512State},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512State},
    {"rdpid", 7, 0, Ecx, 22},
    {"kl", 7, 0, Ecx, 23},
    {"cldemote", 7, 0, Ecx, 25},
    {"movdiri", 7, 0, Ecx, 27},
    {"movdir64b", 7, 0, Ecx, 28},
    {"enqcmd", 7, 0, Ecx, 29},
    {"uintr", 7, 0, Edx, 5},
    {"avx512vp2intersect", 7, 0, Edx, 8, Avx512State},
    {"serialize", 7, 0, Edx, 14},
    {"tsxldtrk", 7, 0, Edx, 16},
    {"pconfig", 7, 0, Edx, 18},
    {"ibt", 7, 0, Edx, 20},
    {"amx-bf16", 7, 0, Edx, 22, AmxState},
    {"avx512fp16", 7, 0, Edx, 23, Avx512State},
    {"amx-tile", 7, 0, Edx, 24, AmxState},
    {"amx-int8", 7, 0, Edx, 25, AmxState},
    {"sha512", 7, 1, Eax, 0},
    {"sm3", 7, 1, Eax, 1},
    {"sm4", 7, 1, Eax, 2},
    {"raoint", 7, 1, Eax, 3},
    {"avxvnni", 7, 1, Eax, 4, AvxState},
    {"avx512bf16", 7, 1, Eax, 5, Avx512State},
    {"cmpccxadd", 7, 1, Eax, 7},
    {"amx-fp16", 7, 1, Eax, 21, AmxState},
    {"hreset", 7, 1, Eax, 22},
    {"avxifma", 7, 1, Eax, 23, AvxState},
    {"avxvnniint8", 7, 1, Edx, 4, AvxState},
    {"avxneconvert", 7, 1, Edx, 5, AvxState},
    {"amx-complex", 7, 1, Edx, 8, AmxState},
    {"avxvnniint16", 7, 1, Edx, 10, AvxState},
    {"prefetchi", 7, 1, Edx, 14},
    {"usermsr", 7, 1, Edx, 15},
    {"xsaveopt", 0xd, 1, Eax, 0},
    {"xsavec", 0xd, 1, Eax, 1},
    {"xsaves", 0xd, 1, Eax, 3},
    {"ptwrite", 0x14, 0, Ebx, 4},
    {"widekl", 0x19, 0, Ebx, 2},
    {"sahf", extended | 1, 0, Ecx, 0},
    {"lzcnt", extended | 1, 0, Ecx, 5},
    {"sse4a", extended | 1, 0, Ecx, 6},
    {"prfchw", extended | 1, 0, Ecx, 8},
    {"xop", extended | 1, 0, Ecx, 11, AvxState},
    {"lwp", extended | 1, 0, Ecx, 15},
    {"fma4", extended | 1, 0, Ecx, 16, AvxState},
    {"tbm", extended | 1, 0, Ecx, 21},
    {"mwaitx", extended | 1, 0, Ecx, 29},
    {"64bit", extended | 1, 0, Edx, 29},
    {"clzero", extended | 8, 0, Ebx, 0},
    {"rdpru", extended | 8, 0, Ebx, 4},
    {"wbnoinvd", extended | 8, 0, Ebx, 9},
};

// What this CPU says of itself. The instruction is a trip to the host of a virtual machine,
// of many microseconds, so each leaf is asked for once.
class Cpu {
public:
  bool has(const Feature &feature) {
    return (leaf(feature.leaf, feature.subleaf)[feature.reg] & 1u << feature.bit) &&
           systemSaves(feature.state);
  }

private:
  using Registers = std::array<uint32_t, 4>;
  struct Leaf {
    uint32_t number, sub;
    Registers registers;
  };

  const Registers &leaf(uint32_t number, uint32_t sub) {
    for (const Leaf &known : leaves_)
      if (known.number == number && known.sub == sub)
        return known.registers;
    Registers r = {};
    if (number <= most(number & extended))
      __cpuid_count(number, sub, r[Eax], r[Ebx], r[Ecx], r[Edx]);
    return leaves_.emplace_back(Leaf{number, sub, r}).registers;
  }

  uint32_t most(uint32_t range) {
    uint32_t &most = most_[range != 0];
    if (most == 0)
      most = __get_cpuid_max(range, nullptr);
    return most;
  }

  bool systemSaves(State state) {
    constexpr uint64_t masks[] = {0, 0x6, 0xe6, 0x60000};
    if (state == NoState)
      return true;
    if (!saved_)
      saved_ = leaf(1, 0)[Ecx] & 1u << 27 ? readXcr0() : 0;
    return (*saved_ & masks[state]) == masks[state];
  }

  static uint64_t readXcr0() {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
  }

  std::vector<Leaf> leaves_;
  uint32_t most_[2] = {0, 0}; // leaves: plain and extended; 0: not known yet
  std::optional<uint64_t> saved_;
};

bool hasFeature(Cpu &cpu, std::string_view name) {
  for (const Feature &feature : features)
    if (feature.name == name)
      return cpu.has(feature);
  return false;
}

} // namespace

std::vector<std::string> missingCpuFeatures(std::string_view list) {
  Cpu cpu;
  std::vector<std::string> missing;
  for (std::string &name : split(list, ',')) {
    if (name.empty() || name[0] == '-')
      continue;
    if (name[0] == '+')
      name.erase(0, 1);
    if (!hasFeature(cpu, name))
      missing.push_back(name);
  }
  return missing;
}

} // namespace bycc::runtime
