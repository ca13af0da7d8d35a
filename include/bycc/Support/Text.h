// Text helpers for messages and printing: locale-independent numbers, escaping,
// the nearest name for a misspelt one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// Of a name in a program, a model or a file of weights.
inline constexpr size_t maxNameBytes = 4096;

// Shortest text that reads back as the same value, always with a '.', an 'e' or
// "inf"/"nan" in it ("1.0", "1e-05").
std::string formatDouble(double value);
std::string formatFloat(float value);
// Whole text must be the number; no locale.
std::optional<int64_t> parseInt(std::string_view text);
std::optional<double> parseDouble(std::string_view text);

// Untrusted text made safe for a terminal: control characters and bad UTF-8 as \xNN.
std::string escaped(std::string_view text, size_t maxBytes = 256);
bool isValidUtf8(std::string_view text, size_t *badOffset = nullptr);

// The candidate with the smallest edit distance, if it is close enough to help; else
// the only one that starts with the name.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

// Shell-style glob with * and ?.
bool matchesGlob(std::string_view pattern, std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

// `text` with every character outside [A-Za-z0-9_] replaced by '_', a leading
// digit prefixed by '_'; "_" for the empty text.
std::string asIdentifier(std::string_view text);

} // namespace bycc
