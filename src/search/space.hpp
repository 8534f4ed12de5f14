#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paragrad::search {

/// Values of options by name, as text.
using Values = std::map<std::string, std::string>;

/// Numbers from `from` to `to`, written "0.01..1", or "0.01..1 log" if their logarithms are to be uniform. If both ends are
/// whole numbers, so are all.
struct Range {
  double from = 0, to = 0;
  bool logarithmic = false, whole = false;

  /// Nothing if the text is not of this form. Throws ConfigError, which names the option, for a range that is empty or has
  /// no logarithms.
  static std::optional<Range> parse(const std::string& option, const std::string& text);

  /// The number at place u in [0, 1), with four significant digits, or more where the range is narrower than that.
  std::string at(double u) const;
};

/// Options with one value, with several to try all (a grid), or with a range to draw from.
class Space {
 public:
  /// Throws ConfigError for an option without values, or that is already there.
  void add(const std::string& option, std::vector<std::string> values);

  bool has_ranges() const;
  std::vector<std::string> varied() const;  ///< options with several values or a range, in the order they were added

  /// All combinations of the grid, the last option changing fastest, each with `draws` draws from the ranges. Draw i is the
  /// same for every combination and depends on (seed, i) and the option's place alone. Without ranges draws does not count.
  std::vector<Values> configurations(std::size_t draws, std::uint64_t seed) const;

 private:
  struct Dimension {
    std::string option;
    std::vector<std::string> values;
    std::optional<Range> range{};
  };
  std::vector<Dimension> dimensions_;
};

}  // namespace paragrad::search
