// Operators whose definition is a library kernel: Eval makes the call that compiled
// code would make, on one thread.

#include "Kernel.h"

#include "bycc/IR/LibraryUse.h"
#include "bycc/Library/Call.h"

namespace bycc::eval {
namespace {

bycc_operand operandOf(const Tensor &tensor) {
  return {const_cast<uint8_t *>(tensor.bytes.get()),
          const_cast<int64_t *>(tensor.shape.data()),
          static_cast<int32_t>(tensor.dtype),
          static_cast<int32_t>(tensor.shape.size()),
          -1,
          0};
}

} // namespace

Expected<Value> libraryKernel(const KernelContext &context) {
  LibraryUse use = BYCC_TRY(libraryUse(context.module(), context.call()));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < context.numInputs(); ++i)
    for (Tensor &tensor : context.value(i).flatten())
      tensors.push_back(std::move(tensor));
  std::vector<bycc_operand> inputs, results;
  for (const Tensor &tensor : tensors)
    inputs.push_back(operandOf(tensor));
  std::vector<Tensor> made(context.results().size());
  std::vector<Ints> shapes;
  for (const ResultType &type : context.results())
    shapes.push_back(type.shape);
  for (size_t i = 0; i < made.size(); ++i) {
    const ResultType &type = context.result(i);
    uint8_t *data = nullptr;
    if (type.isKnown)
      made[i] = BYCC_TRY(Tensor::make(type.dtype, type.shape, data));
    results.push_back({data, shapes[i].data(), static_cast<int32_t>(type.dtype),
                       static_cast<int32_t>(shapes[i].size()), -1, 0});
  }
  auto allocate = [&](const bycc_operand &result, int64_t) -> void * {
    size_t index = static_cast<size_t>(&result - results.data());
    uint8_t *data = nullptr;
    auto tensor = Tensor::make(context.result(index).dtype, shapes[index], data);
    if (!tensor)
      return nullptr;
    made[index] = *tensor;
    return data;
  };
  auto inOrder = [](bycc_task_fn task, void *closure, int64_t count, int64_t) {
    if (count > 0)
      task(closure, 0, count, 0);
  };
  bycc_library_call call{static_cast<uint32_t>(use.kernel),
                         static_cast<uint32_t>(use.attributes.size()),
                         static_cast<uint32_t>(inputs.size()),
                         static_cast<uint32_t>(results.size()),
                         use.attributes.data(),
                         inputs.data(),
                         results.data()};
  LibraryCall seen(call, allocate, inOrder);
  if (auto done = runLibraryKernel(seen, call.kernel); !done)
    return context.error(done.error().status()) << done.error().message();
  if (made.size() == 1)
    return Value(std::move(made[0]));
  Value::Tuple fields(made.begin(), made.end());
  return Value(std::move(fields));
}

} // namespace bycc::eval
