#include "Harness.h"

#include "Emit.h"
#include "Object.h"
#include "bycc/CodeGen/HostTarget.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace bycc::codegen {
namespace {

struct Interpreter {
  const Kernel &kernel;
  const std::vector<int64_t> &dims;
  Data &data;
  std::unordered_map<uint32_t, int64_t> axes;

  double narrow(double v, DType type) {
    if (type == DType::Float32)
      return static_cast<float>(v);
    if (type == DType::Float16)
      return bycc::halfToFloat(bycc::floatToHalf(static_cast<float>(v)));
    if (type == DType::BFloat16)
      return bycc::bfloat16ToFloat(bycc::floatToBFloat16(static_cast<float>(v)));
    return v;
  }

  double value(Ref ref) {
    const Expr &e = kernel.exprs[ref];
    switch (e.op) {
    case Op::Const:
      return isFloat(e.type) ? e.f : static_cast<double>(e.i);
    case Op::Axis:
      return static_cast<double>(axes.at(static_cast<uint32_t>(e.i)));
    case Op::Dim:
      return static_cast<double>(dims.at(static_cast<size_t>(e.i)));
    case Op::Load:
      return data.at(static_cast<size_t>(e.i)).at(static_cast<size_t>(value(e.a)));
    case Op::Guard:
    case Op::Select:
      return value(e.a) != 0 ? value(e.b) : value(e.c);
    default:
      break;
    }
    double a = value(e.a);
    if (e.b == noRef)
      return unary(e, a);
    return binary(e, a, value(e.b));
  }

  double unary(const Expr &e, double a) {
    switch (e.op) {
    case Op::Cast:
      return isFloat(e.type) ? narrow(a, e.type) : std::trunc(a);
    case Op::Neg:
      return -a;
    case Op::Abs:
      return std::fabs(a);
    case Op::Exp:
      return std::exp(a);
    case Op::Log:
      return std::log(a);
    case Op::Sqrt:
      return std::sqrt(a);
    case Op::Tanh:
      return std::tanh(a);
    case Op::Erf:
      return std::erf(a);
    case Op::Libm1:
      a = static_cast<float>(a); // as the kernel reads it: a huge angle has no other sine nearby
      return static_cast<LibmFn>(e.i) == LibmFn::Sin ? std::sin(a) : std::cos(a);
    case Op::Sigmoid:
      return 1 / (1 + std::exp(-a));
    case Op::Round:
      return std::round(a);
    case Op::Floor:
      return std::floor(a);
    case Op::Not:
      return a == 0;
    default:
      throw std::runtime_error("interpreter: unary");
    }
  }

  double binary(const Expr &e, double a, double b) {
    switch (e.op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return isFloat(kernel.exprs.type(e.a)) ? a / b : b == 0 ? 0 : std::trunc(a / b);
    case Op::FloorDiv:
      return b == 0 ? 0 : std::floor(a / b);
    case Op::FloorMod:
      return b == 0 ? 0 : a - std::floor(a / b) * b;
    case Op::Min:
      return std::isnan(a) ? a : b < a || std::isnan(b) ? b : a;
    case Op::Max:
      return std::isnan(a) ? a : b > a || std::isnan(b) ? b : a;
    case Op::And:
      return a != 0 && b != 0;
    case Op::Or:
      return a != 0 || b != 0;
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    default:
      throw std::runtime_error("interpreter: binary");
    }
  }

  int64_t extent(uint32_t axis) { return static_cast<int64_t>(value(kernel.exprs.extent(axis))); }

  void loop(const std::vector<uint32_t> &list, size_t d, const std::function<void()> &body) {
    if (d == list.size())
      return body();
    int64_t n = extent(list[d]);
    for (int64_t i = 0; i < n; ++i) {
      axes[list[d]] = i;
      loop(list, d + 1, body);
    }
  }

  void run(const Stage &stage) {
    auto &out = data[stage.buffer];
    DType type = kernel.buffers[stage.buffer].type;
    loop(stage.axes, 0, [&] {
      double acc = 0;
      bool isMax = stage.reduce == Reduce::Max;
      if (stage.reduce == Reduce::Prod || stage.reduce == Reduce::All)
        acc = 1;
      if (isMax || stage.reduce == Reduce::Min)
        acc = isMax ? -INFINITY : INFINITY;
      auto step = [&] {
        double v = value(stage.body);
        switch (stage.reduce) {
        case Reduce::None:
          acc = v;
          break;
        case Reduce::Sum:
          acc += v;
          break;
        case Reduce::Prod:
          acc *= v;
          break;
        case Reduce::Max:
          acc = v > acc || std::isnan(v) ? v : acc;
          break;
        case Reduce::Min:
          acc = v < acc || std::isnan(v) ? v : acc;
          break;
        case Reduce::All:
          acc = acc != 0 && v != 0;
          break;
        case Reduce::Any:
          acc = acc != 0 || v != 0;
          break;
        }
      };
      loop(stage.reduceAxes, 0, step);
      out.at(static_cast<size_t>(value(stage.store))) = narrow(acc, type);
    });
  }
};

void toMemory(const std::vector<double> &numbers, DType type, std::vector<uint8_t> &bytes) {
  size_t size = static_cast<size_t>(sizeInBytes(type));
  bytes.assign(numbers.size() * size + 64, 0);
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint8_t *at = bytes.data() + i * size;
    double v = numbers[i];
    auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
    switch (type) {
    case DType::Bool:
      put(static_cast<uint8_t>(v != 0));
      break;
    case DType::Int8:
      put(static_cast<int8_t>(v));
      break;
    case DType::UInt8:
      put(static_cast<uint8_t>(v));
      break;
    case DType::Int16:
      put(static_cast<int16_t>(v));
      break;
    case DType::UInt16:
      put(static_cast<uint16_t>(v));
      break;
    case DType::Int32:
      put(static_cast<int32_t>(v));
      break;
    case DType::UInt32:
      put(static_cast<uint32_t>(v));
      break;
    case DType::Int64:
      put(static_cast<int64_t>(v));
      break;
    case DType::UInt64:
      put(static_cast<uint64_t>(v));
      break;
    case DType::Float16:
      put(bycc::floatToHalf(static_cast<float>(v)));
      break;
    case DType::BFloat16:
      put(bycc::floatToBFloat16(static_cast<float>(v)));
      break;
    case DType::Float32:
      put(static_cast<float>(v));
      break;
    case DType::Float64:
      put(v);
      break;
    }
  }
}

void fromMemory(const std::vector<uint8_t> &bytes, DType type, std::vector<double> &numbers) {
  size_t size = static_cast<size_t>(sizeInBytes(type));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint8_t *at = bytes.data() + i * size;
    auto get = [&](auto x) {
      std::memcpy(&x, at, sizeof x);
      return x;
    };
    switch (type) {
    case DType::Bool:
    case DType::UInt8:
      numbers[i] = get(uint8_t{});
      break;
    case DType::Int8:
      numbers[i] = get(int8_t{});
      break;
    case DType::Int16:
      numbers[i] = get(int16_t{});
      break;
    case DType::UInt16:
      numbers[i] = get(uint16_t{});
      break;
    case DType::Int32:
      numbers[i] = get(int32_t{});
      break;
    case DType::UInt32:
      numbers[i] = get(uint32_t{});
      break;
    case DType::Int64:
      numbers[i] = static_cast<double>(get(int64_t{}));
      break;
    case DType::UInt64:
      numbers[i] = static_cast<double>(get(uint64_t{}));
      break;
    case DType::Float16:
      numbers[i] = bycc::halfToFloat(get(uint16_t{}));
      break;
    case DType::BFloat16:
      numbers[i] = bycc::bfloat16ToFloat(get(uint16_t{}));
      break;
    case DType::Float32:
      numbers[i] = get(float{});
      break;
    case DType::Float64:
      numbers[i] = get(double{});
      break;
    }
  }
}

int slices = 1;

void parallelFor(bycc_exec *, bycc_task_fn task, void *closure, int64_t count, int64_t) {
  for (int t = 0; t < slices; ++t)
    task(closure, count * t / slices, count * (t + 1) / slices, t);
}

} // namespace

void interpret(const Kernel &kernel, const std::vector<int64_t> &dims, Data &data) {
  Interpreter interpreter{kernel, dims, data, {}};
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].role == Role::Input)
      continue;
    size_t n = 1;
    for (Ref extent : kernel.buffers[b].shape)
      n *= static_cast<size_t>(interpreter.value(extent));
    data.resize(std::max(data.size(), b + 1));
    data[b].assign(n, 0);
  }
  for (const Stage &stage : kernel.stages)
    interpreter.run(stage);
}

struct Compiled::Impl {
  Loops loops;
  TargetInfo target;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::string text;
  using Entry = void (*)(void **args, const int64_t *dims);
  Entry entry = nullptr;
};

Compiled::Compiled(const Kernel &kernel, const TargetInfo &target, KernelEdits *edits)
    : impl_(new Impl) {
  impl_->loops = codegen::schedule(kernel, target, false, edits).takeValue();
  impl_->target = target;
  const Loops &s = impl_->loops;
  auto machine = makeTargetMachine(target, 2).takeValue();
  auto build = [&](llvm::LLVMContext &context) {
    auto module = std::make_unique<llvm::Module>("test", context);
    prepareModule(*module, *machine);
    llvm::IRBuilder<> b(context);
    EmitContext emit{*module, target, nullptr};
    emit.scratchBytes = new llvm::GlobalVariable(
        *module, b.getInt64Ty(), true, llvm::GlobalValue::InternalLinkage,
        b.getInt64(static_cast<uint64_t>(s.scratchBytes)), "scratch_bytes");
    llvm::Function *function = KernelEmitter(emit, s, "kernel").run();
    // entry(args, dims): unpacks arrays into arguments.
    auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
    auto *entry =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "entry", *module);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
    std::vector<llvm::Value *> args;
    for (size_t i = 0; i <= s.arguments.size(); ++i)
      args.push_back(
          b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), entry->getArg(0), i)));
    for (uint32_t d = 0; d < s.kernel.numDims; ++d)
      args.push_back(
          b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), entry->getArg(1), d)));
    b.CreateCall(function, args);
    b.CreateRetVoid();
    auto verified = codegen::verify(*module);
    if (!verified) {
      module->print(llvm::errs(), nullptr);
      throw std::runtime_error(verified.error().str());
    }
    if (std::getenv("BYCC_DUMP_RAW"))
      module->print(llvm::errs(), nullptr);
    optimize(*module, *machine, 2);
    if (std::getenv("BYCC_DUMP"))
      module->print(llvm::errs(), nullptr);
    return module;
  };
  {
    llvm::LLVMContext context;
    auto module = build(context);
    auto code = emitCode(*module, *machine, true);
    impl_->text.assign(code->begin(), code->end());
  }
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = build(*context);
  auto object = emitCode(*module, *machine, false);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  impl_->jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  auto bytes = llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(reinterpret_cast<char *>(object->data()), object->size()));
  llvm::cantFail(impl_->jit->addObjectFile(std::move(bytes)));
  impl_->entry = llvm::cantFail(impl_->jit->lookup("entry")).toPtr<Impl::Entry>();
}

Compiled::~Compiled() = default;
const Loops &Compiled::loops() const { return impl_->loops; }
std::string Compiled::assembly() const { return impl_->text; }

namespace {

struct Run {
  std::vector<std::vector<uint8_t>> memory;
  std::vector<void *> args;
  bycc_exec_api api{};
  bycc_exec exec{};
  std::vector<uint8_t> scratch;
};

void *aligned(std::vector<uint8_t> &bytes, size_t need) {
  bytes.resize(need + 128);
  return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64);
}

} // namespace

static void prepare(Run &run, const Loops &s, const std::vector<int64_t> &dims, Data &data,
                    int threads) {
  slices = threads;
  run.api.size = sizeof run.api;
  run.api.parallel_for = parallelFor;
  run.exec.api = &run.api;
  run.scratch.resize(static_cast<size_t>(s.scratchBytes) * static_cast<size_t>(threads) + 128);
  run.exec.scratch = static_cast<uint8_t *>(aligned(run.scratch, run.scratch.size()));
  run.exec.threads = threads;
  run.args.push_back(&run.exec);
  run.memory.resize(s.kernel.buffers.size());
  Data none;
  Interpreter interpreter{s.kernel, dims, none, {}};
  for (uint32_t buffer : s.arguments) {
    const Buffer &b = s.kernel.buffers[buffer];
    const PackSpec *pack = nullptr;
    for (const PackSpec &spec : s.packs)
      if (spec.packed == buffer)
        pack = &spec;
    std::vector<double> numbers;
    if (b.role == Role::Input) {
      numbers = data[buffer];
    } else if (pack && s.kernel.buffers[pack->source].isConstant) {
      int64_t total = pack->elements();
      for (int64_t i = 0; i < total; ++i) {
        int64_t rest = i, at = pack->base, column = 0;
        for (size_t d = pack->dims.size(); d-- > 0;) {
          int64_t index = rest % pack->dims[d].extent;
          rest /= pack->dims[d].extent;
          at += index * pack->dims[d].stride;
          column += d == pack->laneDim   ? index
                    : d == pack->tileDim ? index * pack->dims[pack->laneDim].extent
                                         : 0;
        }
        numbers.push_back(column < pack->columns ? data[pack->source].at(static_cast<size_t>(at))
                                                 : 0);
      }
    } else {
      size_t n = 1;
      for (Ref extent : b.shape)
        n *= static_cast<size_t>(interpreter.value(extent));
      numbers.assign(n, 99);
    }
    std::vector<uint8_t> bytes;
    toMemory(numbers, b.type, bytes);
    void *to = aligned(run.memory[buffer], bytes.size());
    std::memcpy(to, bytes.data(), bytes.size());
    run.args.push_back(to);
  }
}

void Compiled::run(const std::vector<int64_t> &dims, Data &data, int threads) {
  const Loops &s = impl_->loops;
  Run run;
  prepare(run, s, dims, data, threads);
  impl_->entry(run.args.data(), dims.data());
  for (size_t a = 0; a < s.arguments.size(); ++a) {
    uint32_t buffer = s.arguments[a];
    if (s.kernel.buffers[buffer].role != Role::Output)
      continue;
    auto *begin = static_cast<uint8_t *>(run.args[a + 1]);
    size_t size =
        data[buffer].size() * static_cast<size_t>(sizeInBytes(s.kernel.buffers[buffer].type));
    fromMemory(std::vector<uint8_t>(begin, begin + size), s.kernel.buffers[buffer].type,
               data[buffer]);
  }
}

double Compiled::seconds(const std::vector<int64_t> &dims, Data &data) {
  Run run;
  prepare(run, impl_->loops, dims, data, 1);
  double best = 1e9;
  for (int i = 0; i < 12; ++i) {
    auto begin = std::chrono::steady_clock::now();
    impl_->entry(run.args.data(), dims.data());
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

TargetInfo nativeTarget() { return resolveTarget("", "native", "").takeValue(); }

std::vector<double> randomNumbers(size_t count, uint64_t seed) {
  std::vector<double> numbers(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (double &v : numbers) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    v = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return numbers;
}

} // namespace bycc::codegen
