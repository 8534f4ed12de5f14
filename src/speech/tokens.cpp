#include "speech/tokens.hpp"

#include <string>
#include <unordered_set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"

namespace paragrad::speech {

ClassName::ClassName(std::string_view name) : token(name) {
  const std::size_t stroke = name.rfind('/');
  if (stroke == std::string_view::npos || stroke == 0) return;
  const std::string_view number = name.substr(stroke + 1, name.find(' ', stroke) - stroke - 1);
  const auto value = core::number_of<std::size_t>(number);
  if (!value || number != std::to_string(*value)) return;
  token = name.substr(0, stroke);
  state = value;
}

Tokens::Tokens(std::span<const std::string> class_names, std::size_t classes) {
  std::unordered_set<std::string> begun;
  for (std::size_t k = 0; k < classes; ++k) {
    const ClassName name(class_names.empty() ? std::to_string(k) : class_names[k]);
    if (names_.empty() || names_.back() != name.token) {
      if (!begun.insert(name.token).second)
        throw core::ConfigError(
            core::format("class {} belongs to '{}', but other words come between its classes: number the classes of a word "
                         "consecutively",
                         k, name.token));
      names_.push_back(name.token);
    }
    of_class_.push_back({static_cast<std::int32_t>(names_.size() - 1), name.state.value_or(0)});
  }
}

std::vector<std::int32_t> Tokens::in(std::span<const std::int32_t> labels) const {
  std::vector<std::int32_t> tokens;
  const State* before = nullptr;
  for (const std::int32_t label : labels) {
    if (static_cast<std::size_t>(label) >= of_class_.size())  // below zero: beyond all
      throw core::ConfigError(core::format("label {} is out of range for {} classes", label, of_class_.size()));
    const State& now = of_class_[static_cast<std::size_t>(label)];
    if (before == nullptr || now.token != before->token || now.number < before->number) tokens.push_back(now.token);
    before = &now;
  }
  return tokens;
}

}  // namespace paragrad::speech
