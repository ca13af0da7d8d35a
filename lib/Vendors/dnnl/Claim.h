// Which groups of operators are composites of this vendor: those that its own fusion makes
// one primitive of. No list says it a second time: a group is planned as a region would be,
// and the primitive that comes out gives it its name.
#pragma once

#include "Plan.h"

#include "bycc/vendor.hpp"

namespace bycc::onednn {

// Why the composite cannot be taken as one primitive; "" when it can.
std::string refusalOfComposite(const Plan &plan);

// "dnnl.conv2d_bias_relu": the product of the composite, then what its primitive does with
// the result. Throws where it does nothing: that is no composite.
std::string nameOfComposite(vendor::Node composite, const Plan &plan);

} // namespace bycc::onednn
