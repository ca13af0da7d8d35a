// An instance on the memory of one context: memory objects and argument lists, so that a
// run only puts the caller's pointers in and executes.
#pragma once

#include "Instance.h"

#include "bycc/vendor.h"

#include <span>

namespace bycc::onednn {

class Execution {
public:
  // Both must outlive it; `arena` has the bytes that the instance says. Throws what the
  // library throws.
  Execution(const Instance &instance, uint8_t *arena);

  const Instance &instance() const { return instance_; }

  // One at a time. False when the library fails. `ns`: the time of each call is added
  // there; null: not measured. The calling thread's thread count is put back.
  dnnl_status_t run(const bycc_array *inputs, const bycc_array *outputs, uint64_t *ns);

private:
  struct Binding {
    uint32_t slot, index;
    uint64_t offset; // in bytes
    void *bound;
  };
  dnnl_status_t runLoop(const PrimitiveCall &call, std::span<const dnnl_exec_arg_t> args) const;
  void *addressOf(const Buffer &buffer, uint8_t *arena, uint64_t offset) const;
  dnnl_status_t bind(std::vector<Binding> &bindings, const bycc_array *arrays);

  const Instance &instance_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_; // one per slot
  std::vector<dnnl_exec_arg_t> args_;  // of all calls
  std::vector<uint32_t> begins_;       // per call, and the end
  std::vector<Binding> inputs_, outputs_;
};

} // namespace bycc::onednn
