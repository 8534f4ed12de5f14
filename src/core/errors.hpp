#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::core {

/// An error that the user can fix: a wrong option, a damaged file, a loss that became NaN.
/// The text is one sentence: what is wrong, where, and what to do. Options stand in it in backquotes, as in "give `servers`
/// 1": the library knows no command line, which shows them as --servers. `main` prints it and exits with 2.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "unknown strategy 'bmfu'; did you mean bmuf? (known: sgd, data_parallel, …)"
ConfigError unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known);

}  // namespace paragrad::core
