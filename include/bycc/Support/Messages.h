// The messages that have a number (Messages.def) and what `bycc explain` says of each.
#pragma once

#include "bycc/Support/Error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

enum class MessageId : uint16_t {
#define BYCC_MESSAGE(number, name, title, why, example, advice) name = number,
#include "bycc/Support/Messages.def"
#undef BYCC_MESSAGE
};

} // namespace bycc
