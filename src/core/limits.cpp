#include "core/limits.hpp"

namespace paragrad::core {

std::string not_a_number(const std::string& text, bool whole, const std::string& limits) {
  const std::string kind = whole ? "whole number" : "number";
  const std::string wanted = limits == "any number"          ? "number"
                             : limits.ends_with(" or more")  ? format("{} of {}", kind, limits)
                             : limits.starts_with("above 0") ? format("{} {}", kind, limits)
                                                             : format("{} from {}", kind, limits);
  return format("'{}' is not a {}", text, wanted);
}

}  // namespace paragrad::core
