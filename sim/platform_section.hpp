#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/toml.hpp"
#include "core/units.hpp"
#include "sim/platform_changes.hpp"

namespace paragrad::sim {

/// One table of a platform file: reads its keys, reports where a bad value is, and finds unknown keys.
/// Every reader checks bounds; one that takes `otherwise` returns it if the key is missing. All throw ConfigError.
///
/// A quantity, or a number in quotes, may have a spread: "9GBps ± 30%" says that the value lies within a factor of 1.3 with
/// a probability of 95 %.
class Section {
 public:
  /// spreads: where those of this table are added, by "name.key", as standard deviations of logarithms.
  Section(const toml::table& table, std::string file, std::string name, std::map<std::string, double>& spreads)
      : file_(std::move(file)), name_(std::move(name)), table_(&table), spreads_(&spreads) {}

  bool has(const std::string& key) {
    known_.insert(key);
    return table_->contains(key);
  }

  /// A quantity in SI units, within bounds that the simulator's clock (64-bit picoseconds) can work with.
  double quantity(const std::string& key, core::Unit unit, double least, double most, std::optional<double> otherwise = {});
  double time(const std::string& key, double least, std::optional<double> otherwise = {});
  double bandwidth(const std::string& key, std::optional<double> otherwise = {});
  double rate(const std::string& key);
  std::int64_t bytes(const std::string& key, double least, std::optional<double> otherwise = {});

  double number(const std::string& key, double least, double most, std::optional<double> otherwise = {});
  double fraction(const std::string& key);  ///< above 0, at most 1
  std::int64_t whole(const std::string& key, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> otherwise = {});
  bool flag(const std::string& key, bool otherwise);
  std::string word(const std::string& key);

  /// A non-empty list, each value within the bounds.
  std::vector<double> quantities(const std::string& key, core::Unit unit, double least, double most);
  std::vector<double> wholes(const std::string& key, std::int64_t least, std::int64_t most);
  std::vector<std::string> words(const std::string& key, std::size_t least = 1);
  /// A list of `size` lists of as many finite numbers.
  std::vector<std::vector<double>> square(const std::string& key, std::size_t size);

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

  /// Throws ConfigError for the first key that was not read.
  void done() const;

 private:
  toml::node_view<const toml::node> value(const std::string& key);
  std::string misspelt(const std::string& key) const;  ///< a key that was not read and resembles it; "" if none does
  double parse_quantity(const std::string& key, const toml::node* value, core::Unit unit, double least, double most) const;
  const toml::array& list(const std::string& key, std::size_t least = 1);
  std::string without_spread(const std::string& key, const std::string& text) const;

  std::string file_;
  std::string name_;
  const toml::table* table_;
  std::map<std::string, double>* spreads_;
  std::set<std::string> asked_;
  std::set<std::string> known_;  // to suggest one for a key that is not known
};

/// Changes the content of the platform file `path`. Throws ConfigError for a section that may be repeated. Whether the file
/// may have the section and the key is found when it is read.
void apply(const PlatformChanges& changes, toml::table& content, const std::string& path);

}  // namespace paragrad::sim
