#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::speech {

/// A parsed class name: "seven/2" is state 2 of the token "seven", and "seven/2 after_six" a variant of that state. Any
/// other name is a token.
struct ClassName {
  explicit ClassName(std::string_view name);

  std::string token;
  std::optional<std::size_t> state;
};

/// The tokens (words, phones) in the order of the classes: neighbouring classes with the same token are its states.
class Tokens {
 public:
  /// Without names each class is a token. Throws ConfigError if other classes come between those of a token.
  Tokens(std::span<const std::string> class_names, std::size_t classes);

  std::size_t count() const { return names_.size(); }
  const std::string& name(std::size_t token) const { return names_[token]; }

  /// The tokens that the labels of consecutive frames pass through. States may be missing, for example those shorter than a
  /// frame: a token ends when another token or an earlier state of its own follows. Repetitions of a token with a single
  /// state are therefore not detected. Throws ConfigError for labels outside the classes.
  std::vector<std::int32_t> in(std::span<const std::int32_t> labels) const;

 private:
  struct State {
    std::int32_t token;
    std::size_t number;
  };

  std::vector<std::string> names_;
  std::vector<State> of_class_;  // [classes]
};

}  // namespace paragrad::speech
