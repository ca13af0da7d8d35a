// SHA-1 (FIPS 180-4), for checksums that foreign formats give. Not for secrets.
#pragma once

#include <cstdint>
#include <string>

namespace bycc {

// The digest as 40 hexadecimal digits in lower case.
std::string sha1(const void *data, uint64_t size);

} // namespace bycc
