#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/options.hpp"

namespace paragrad::cli {

/// Determines which options of a parser have no effect, given the choices made by others. Giving an option that has no
/// effect is an error: the user meant something by it.
class OptionUse {
 public:
  explicit OptionUse(const CLI::App& parser) : parser_(parser) {}

  /// By the conditions of a list, with the values that were given.
  OptionUse(const CLI::App& parser, const core::OptionList& list);

  /// A choice among the entries of a catalogue.
  struct Entry {
    std::string name;
    std::set<std::string> options;  ///< that the entry uses
  };
  struct Catalogue {
    std::string kind;    ///< "strategy"
    std::string plural;  ///< "strategies"
    std::string chosen;  ///< an entry's name, possibly with a parameter after a colon
    std::vector<Entry> entries;
  };

  /// An option that catalogue entries list is used if a chosen entry lists it. If the option that chooses from a catalogue
  /// is itself unused (`--compression` without gradients to exchange), none of that catalogue's entries is chosen.
  void choose(const std::vector<Catalogue>& catalogues);

  /// Marks `options` as unused unless `used`. why: the text after their name in the message, "needs --auto-minibatch".
  /// whole: the option that they refine. If it was given, to switch the feature off, they are not an error.
  void require(bool used, const std::vector<std::string>& options, const std::string& why, const std::string& whole = "");

  /// Why the option of that name (without dashes) has no effect; nothing if it has one.
  std::optional<std::string> unused(const std::string& option) const;

  /// Whether the option was given, on the command line or in --config.
  bool given(const std::string& option) const;

  /// Throws ConfigError for the first option that was given without effect. A value that switches off an absent feature
  /// (false, and for some options 0 or "none") is not an error.
  void check() const;

  /// Removes the settings of options that have no effect.
  void keep_used(core::Settings& settings) const;

  /// The option's value, given or default; and whether it is neither 0 nor false.
  std::string value(const std::string& option) const;
  bool is_on(const std::string& option) const;

  /// The parser's options in the --config format, without those that have no effect.
  std::string config() const;

 private:
  const CLI::App& parser_;
  std::map<std::string, std::string> reasons_;  // by option
  std::set<std::string> switched_off_;
  std::map<std::string, std::string> off_;  // value without effect, by option
};

/// A catalogue for OptionUse::choose, of which the entry `chosen` is used.
OptionUse::Catalogue choice_from(const core::CatalogueInfo& catalogue, const std::string& chosen);

/// The use of the options that the arguments describe. Throws ConfigError for unknown names.
template <class Arguments>
OptionUse use_of(const CLI::App& parser, Arguments& arguments) {
  core::OptionList list;
  arguments.describe(list);
  list.require_valid();
  return {parser, list};
}

}  // namespace paragrad::cli
