#pragma once

#include <string>

#include "data/dataset.hpp"

namespace paragrad::app {

/// What was given to --context: "5+5", frames before and after. Throws ConfigError.
data::Context parse_context(const std::string& text);

}  // namespace paragrad::app
