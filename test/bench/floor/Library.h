// The one place that knows which oneDNN it is compiled with: 2.x (operation descriptors, output
// scales) or 3.x (neither). Everything else is the same in both.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <string>
#include <vector>

namespace floor_bench {

const dnnl::engine &engine();

// The library's version, such as 2.6.3.
std::string libraryVersion();

// A layout by its axes from outermost to innermost and its blocks, as oneDNN's verbose output names
// them: aBcd16b.
std::string layoutName(const dnnl::memory::desc &desc);

bool isZero(const dnnl::memory::desc &desc);

// What the library answers to a primitive of class P with these arguments: empty when it refuses.
template <class P, class... Args>
typename P::primitive_desc describe(const dnnl::primitive_attr &attr, const Args &...args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(engine(), args..., attr, true);
#else
  return typename P::primitive_desc(typename P::desc(args...), attr, engine(), true);
#endif
}

#if DNNL_VERSION_MAJOR >= 3
using Pooling = dnnl::pooling_forward;
using Softmax = dnnl::softmax_forward;
#else
using Pooling = dnnl::pooling_v2_forward;
using Softmax = dnnl::softmax_v2_forward;
#endif

dnnl::layer_normalization_forward::primitive_desc
describeLayerNorm(const dnnl::primitive_attr &attr, const dnnl::memory::desc &data);

dnnl::eltwise_forward::primitive_desc describeEltwise(const dnnl::primitive_attr &attr,
                                                      dnnl::algorithm algorithm,
                                                      const dnnl::memory::desc &data);

dnnl::concat::primitive_desc describeConcat(const dnnl::primitive_attr &attr,
                                            const dnnl::memory::desc &dst, int axis,
                                            const std::vector<dnnl::memory::desc> &sources);

void appendEltwise(dnnl::post_ops &posts, dnnl::algorithm algorithm, float alpha = 0,
                   float beta = 0);

// A scale per output channel of a quantised product (channels of them). 2.x takes the values here;
// 3.x as an argument of the run: the key is then in `scaleArgument`, else 0.
struct Scales {
  int scaleArgument = 0;
};
Scales setChannelScales(dnnl::primitive_attr &attr, int64_t channels, int weightsMask, float value);

// One scale of the result, before the post-ops.
void setResultScale(dnnl::primitive_attr &attr, dnnl::post_ops &posts, float value);

// A reorder that quantises.
dnnl::reorder::primitive_desc describeQuantise(const dnnl::memory::desc &src,
                                               const dnnl::memory::desc &dst, Scales &scales);

} // namespace floor_bench
