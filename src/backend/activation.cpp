#include "backend/activation.hpp"

#include <algorithm>

namespace paragrad::backend {

std::vector<std::string_view> activation_names() {
  return {
#define ACTIVATION(name, Type) #name,
#include "backend/activations.def"
#undef ACTIVATION
  };
}

std::string_view activation_name(Activation f) {
  if (f == Activation::identity) return "identity";
  return activation_names()[static_cast<std::size_t>(f) - 1];
}

std::optional<Activation> find_activation(std::string_view name) {
  const std::vector<std::string_view> names = activation_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Activation>(found - names.begin() + 1);
}

}  // namespace paragrad::backend
