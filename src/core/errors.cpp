#include "core/errors.hpp"

#include "core/format.hpp"
#include "core/names.hpp"

namespace paragrad::core {

ConfigError unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  return ConfigError(format("unknown {} '{}'; {}", what, name, suggestion(name, known)));
}

}  // namespace paragrad::core
