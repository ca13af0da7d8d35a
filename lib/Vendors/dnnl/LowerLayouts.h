// The choice of layouts: what a step is asked to work with.
//
// 1. Convolutions and constant weights are asked for with the layout `any`; what
//    they answer flows on. Everything else takes its operands as they come, and
//    only when the library then falls back to a reference loop are they brought
//    to row-major, and those of pools to channels last.
// 2. A matmul whose result goes through a permute writes in the permuted order at
//    once:
//        matmul -> (12,128,64) -> reshape, permute -> (1,128,12,64): no copy
// 3. Convolutions that end in a concatenation of channels (batch 1) write blocks of
//    channels straight into its memory where that saves more than the older kernels for
//    blocks lose (Prefer.h); the concatenation is then nothing:
//        conv 64 -> |####____|  conv 64 -> |____####|  concat: |########|
//    A convolution keeps a blocked operand as it is, unless that means an older
//    instruction set. Most concatenations do not get here: see SplitConcat.h.
//
// A search over the layouts of all steps at once was measured to bring nothing: with the layout
// that each convolution likes best (channels last or blocks; float32, 1 and 2 threads) and reorders
// for free, squeezenet would gain 0.3 % over channels last throughout and resnet50 1.7 %, less than
// the reorders take; mobilenet_v2 3.7 %, nearly all in depthwise convolutions, for which Prefer.h
// has a kernel that is as fast channels last. For the same reason tuning by measurement is not
// offered.
#pragma once

#include "Library.h"
#include "Usage.h"

namespace bycc::onednn {

class LayoutChooser {
public:
  // `layouts`: per value the layout in which it was made, filled in as lowering goes on.
  LayoutChooser(const Plan &plan, const Usage &usage, const std::vector<Layout> &layouts)
      : plan_(plan), usage_(usage), layouts_(layouts) {}

  // First what suits the neighbours; row-major where that gets only a slow loop.
  Expected<Descriptor> choose(const Step &step, int sum) const;

  // The concatenation that a convolution may write its part of in place; null: none.
  const Step *concatOf(const Step &step) const;
  // The layout in which parts and result of such a concatenation meet.
  Layout blocked(ValueId id) const { return blockedLayout(value(id).dims, value(id).dtype); }

private:
  std::vector<Layouts> candidates(const Step &step, int sum) const;
  Layouts plainLayouts(const Step &step) const;
  Layouts flowingLayouts(const Step &step, const Layout &output) const;
  std::vector<Layouts> convLayouts(const Step &step) const;
  Layouts concatLayouts(const Step &step) const;
  Layouts channelsLast(const Step &step) const;
  double windowFlops(const Step &conv) const;
  bool isHeldBack(const Step &step, const Descriptor &found, const Layouts &candidate,
                  const std::vector<Layout> &postOps, int sum) const;
  Layouts binaryLayouts(const Step &step) const;
  std::vector<Layouts> matmulLayouts(const Step &step, int sum) const;
  Layout convertedLayout(const Step &step) const;
  Layout weightsLayout(const Step &step) const;
  std::optional<Layout> wantedLayout(ValueId id) const;
  std::vector<Layout> postOpLayouts(const Step &step) const;

  const Layout &layoutOf(ValueId id) const { return layouts_[id]; }
  // What steps take over that leave layouts as they are: of slices a copy.
  Layout flowing(ValueId id) const { return hasGaps(layoutOf(id)) ? plain(id) : layoutOf(id); }
  const Value &value(ValueId id) const { return plan_.values[id]; }
  Layout plain(ValueId id) const { return plainLayout(value(id).dims, value(id).dtype); }
  Layout any(ValueId id) const { return anyLayout(value(id).dims, value(id).dtype); }

  const Plan &plan_;
  const Usage &usage_;
  const std::vector<Layout> &layouts_;
};

} // namespace bycc::onednn
