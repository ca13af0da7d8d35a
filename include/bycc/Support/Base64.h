// Base64 (RFC 4648, with padding) of tensor data in text forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

std::string encodeBase64(const uint8_t *data, uint64_t size);
// nullopt when a character, the length or the padding is wrong.
std::optional<std::vector<uint8_t>> decodeBase64(std::string_view text);

} // namespace bycc
