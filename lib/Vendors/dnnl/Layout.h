// Where the elements of a tensor lie, in the library's terms: how layouts are made, what
// they hold, and the same bytes seen otherwise. What looks into the library's structure
// is in the file of its major version (Version.h).
#pragma once

#include "LayoutForm.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <optional>
#include <string>

namespace bycc::onednn {

using Layout = dnnl::memory::desc;

// Row-major, or the library's free choice.
Layout plainLayout(const Dims &dims, DType dtype);
Layout anyLayout(const Dims &dims, DType dtype);
// Channels in blocks, the layout of the library's classic convolutions.
inline constexpr int64_t channelBlock = 16;
Layout blockedLayout(const Dims &dims, DType dtype);
Layout stridedLayout(const Dims &dims, const Dims &strides, DType dtype);
bool isLayout(const Layout &layout); // false: a Layout() that stands for none
Dims dimsOf(const Layout &layout);
DType dtypeOf(const Layout &layout);
// The same places for elements of another dtype.
Layout withDType(const Layout &layout, DType dtype);
// Channels last, of rank 3 to 5.
Layout channelsLastLayout(const Dims &dims, DType dtype);
// Strides of a layout without inner blocks.
std::optional<Dims> stridesOf(const Layout &layout);
int64_t startOf(const Layout &layout); // elements before the first one: slices
bool isPlain(const Layout &layout);
bool hasGaps(const Layout &layout); // between its elements, as slices have
bool isAny(const Layout &layout);
bool isFilledUp(const Layout &layout); // to whole blocks; true where that is not known
uint64_t bytesOf(const Layout &layout);
// Nothing where the library keeps to itself what a layout is, or has no such layout.
std::optional<LayoutForm> formOf(const Layout &layout);
std::optional<Layout> layoutOf(const LayoutForm &checked);
// Bytes that are equal for equal layouts only.
std::string keyOfLayout(const Layout &layout);

// The same bytes seen as other extents, without a copy; nothing where the layout
// does not allow it.
std::optional<Layout> reshaped(const Layout &layout, const Dims &dims);
std::optional<Layout> permuted(const Layout &layout, const Dims &permutation);
// `steps` is empty or says which elements: every second one, say.
std::optional<Layout> sliced(const Layout &layout, const Dims &begin, const Dims &steps,
                             const Dims &dims);
std::optional<Layout> withStart(const Layout &layout, int64_t start);

} // namespace bycc::onednn
