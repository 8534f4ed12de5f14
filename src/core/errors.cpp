#include "core/errors.hpp"

#include "core/format.hpp"

namespace paragrad::core {

ConfigError unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  return ConfigError(format("unknown {} '{}'; known: {}", what, name, fmt::join(known, ", ")));
}

}  // namespace paragrad::core
