#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::data {

/// What the name of a class says: "seven/2" is state 2 of the token "seven", and "seven/2 after_six" a variant of that
/// state. Any other name is a token.
struct ClassName {
  explicit ClassName(std::string_view name);

  std::string token;
  std::optional<std::size_t> state;
};

/// What can be said (words, phones), in the order of the classes: neighbouring classes with the same token are its states.
class Tokens {
 public:
  /// Without names each class is a token.
  Tokens(std::span<const std::string> class_names, std::size_t classes);

  std::size_t count() const { return names_.size(); }
  const std::string& name(std::size_t token) const { return names_[token]; }

  /// The tokens that labels of consecutive frames pass through. States may be left out, as those that were shorter than a
  /// frame are: a token ends where another follows, or an earlier state of its own. So one of a single state is not seen to
  /// come twice in a row. Throws ConfigError for labels that are no classes.
  std::vector<std::int32_t> in(std::span<const std::int32_t> labels) const;

 private:
  struct State {
    std::int32_t token;
    std::size_t number;
  };

  std::vector<std::string> names_;
  std::vector<State> of_class_;  // [classes]
};

}  // namespace paragrad::data
