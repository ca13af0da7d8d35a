// An instance in one context: memory objects and argument lists, so that a run only puts
// pointers in that are others than before, and executes.
#pragma once

#include "Instance.h"

#include "bycc/vendor.h"

#include <span>

namespace bycc::onednn {

class Execution {
public:
  // Which must outlive it. Throws what the library throws.
  explicit Execution(const Instance &instance);

  const Instance &instance() const { return instance_; }

  // One at a time. `arena` has the bytes that the instance says. `ns`: the time of each call
  // is added there; null: not measured. The calling thread's thread count is put back.
  dnnl_status_t run(uint8_t *arena, const bycc_array *inputs, const bycc_array *outputs,
                    uint64_t *ns);

private:
  struct Binding {
    uint32_t slot, index;
    uint64_t offset; // in bytes
    void *bound;
  };
  dnnl_status_t runLoop(const PrimitiveCall &call, std::span<const dnnl_exec_arg_t> args) const;
  dnnl_status_t moveTo(uint8_t *arena);
  dnnl_status_t bind(std::vector<Binding> &bindings, const bycc_array *arrays);

  const Instance &instance_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_; // one per slot
  std::vector<dnnl_exec_arg_t> args_;  // of all calls
  std::vector<uint32_t> begins_;       // per call, and the end
  std::vector<Binding> inputs_, outputs_;
  uint8_t *arena_ = nullptr;
};

} // namespace bycc::onednn
