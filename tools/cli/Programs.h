// What texts say of bycc and bycc-opt beside their options.
#pragma once

#include "texts/OptionTexts.h"

namespace bycc::cli {

const ProgramTexts &byccTexts();
const ProgramTexts &byccOptTexts();

} // namespace bycc::cli
