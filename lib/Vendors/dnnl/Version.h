// What differs between the versions of oneDNN, behind names of ours: 2.6 (Version2.cpp:
// operation descriptors, layouts as open structures, scales in the attributes) or 3.x
// (Version3.cpp: none of these). With Layout.h and Library.h the whole of it.
#pragma once

#include "Library.h"

#include <span>

namespace bycc::onednn {

dnnl::memory::data_type dataType(DType dtype);

// On in the library's list to the implementation of that name.
template <typename D> std::optional<D> walkTo(const std::string &name, D descriptor) {
  while (descriptor.next_impl())
    if (descriptor.impl_info_str() == name)
      return descriptor;
  return std::nullopt;
}

// Every other primitive takes the same arguments in both.
#if DNNL_VERSION_MAJOR >= 3
using SoftmaxForward = dnnl::softmax_forward;

template <typename P, typename... Args>
typename P::primitive_desc descriptorOf(const dnnl::primitive_attr &attributes,
                                        const Args &...args) {
  return typename P::primitive_desc(engine(), args..., attributes);
}
template <typename P, typename... Args>
std::optional<typename P::primitive_desc> descriptorNamed(const std::string &name,
                                                          const dnnl::primitive_attr &attributes,
                                                          const Args &...args) {
  return walkTo(name, typename P::primitive_desc(engine(), args..., attributes));
}
#else
using SoftmaxForward = dnnl::softmax_v2_forward;

template <typename P, typename... Args>
typename P::primitive_desc descriptorOf(const dnnl::primitive_attr &attributes,
                                        const Args &...args) {
  return typename P::primitive_desc(typename P::desc(args...), attributes, engine());
}
template <typename P, typename... Args>
std::optional<typename P::primitive_desc> descriptorNamed(const std::string &name,
                                                          const dnnl::primitive_attr &attributes,
                                                          const Args &...args) {
  typename P::desc operation(args...); // next_impl() looks at it
  return walkTo(name, typename P::primitive_desc(operation, attributes, engine()));
}
#endif

dnnl::pooling_forward::primitive_desc poolDescriptor(const dnnl::primitive_attr &attributes,
                                                     const Step &step, dnnl::algorithm method,
                                                     const Layout &from, const Layout &to);
dnnl::layer_normalization_forward::primitive_desc
layerNormDescriptor(const dnnl::primitive_attr &attributes, const Step &step,
                    dnnl::normalization_flags flags, const Layout &layout);
dnnl::eltwise_forward::primitive_desc eltwiseDescriptor(const dnnl::primitive_attr &attributes,
                                                        const Step &step, dnnl::algorithm method,
                                                        const Layout &layout);
dnnl::concat::primitive_desc concatDescriptor(const dnnl::primitive_attr &attributes,
                                              const Step &step, const Layouts &layouts);
void appendEltwise(dnnl::post_ops &ops, dnnl::algorithm method, const PostOp &postOp);

// Puts the step's scales and zero points into the attributes, and what the library wants
// of them as operands of a run into `fixed`, which may be null.
void setQuantization(dnnl::primitive_attr &attributes, const Step &step, const Layouts &layouts,
                     FixedOperands *fixed);

// From the least on; each has what those before it have. `features`: LLVM's names.
struct InstructionSet {
  dnnl::cpu_isa isa;
  const char *name, *features;
};
std::span<const InstructionSet> instructionSets();

} // namespace bycc::onednn
