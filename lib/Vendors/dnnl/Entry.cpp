// The compile half where it lies beside the run half: with several versions of oneDNN.
#include "Library.h"

#include "bycc/vendor.hpp"

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_dnnl(void);

BYCC_VENDOR_EXPORT const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  bycc::onednn::checkLibraryIsOurs();
  return bycc_vendor_compiler_dnnl();
}
