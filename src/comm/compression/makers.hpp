#pragma once

#include <memory>
#include <string_view>

#include "comm/compression/gradient_sum.hpp"

// The functions that compression/catalogue.def requires: make_<name>(parameter, options), one per file. The parameter is the
// text after the colon, "" if there is none.
namespace paragrad::comm::compression {

#define COMPRESSION(name, syntax, options_used, description) \
  std::unique_ptr<GradientSum> make_##name(std::string_view parameter, const CompressionOptions& options);
#include "comm/compression/catalogue.def"
#undef COMPRESSION

/// Parses the whole text as a number. Throws ConfigError that quotes it.
double parse_parameter(std::string_view name, std::string_view text);

}  // namespace paragrad::comm::compression
