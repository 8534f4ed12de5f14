#pragma once

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
  /// By the conditions of a list, with the values that were given. An option that catalogue entries list is used if a chosen
  /// entry lists it. If the option that chooses from a catalogue is itself unused (`--compression` without gradients to
  /// exchange), none of that catalogue's entries is chosen.
  OptionUse(const CLI::App& parser, const core::OptionList& list);

  /// Whether the option was given, on the command line or in --config.
  bool given(const std::string& option) const;

  /// Throws ConfigError for the first option that was given without effect. A value that switches off an absent feature
  /// (false, and for some options 0 or "none") is not an error.
  void check() const;

  /// Removes the settings of options that have no effect.
  void keep_used(core::Settings& settings) const;

  /// The parser's options in the --config format, without those that have no effect, and without a default of the parser
  /// that is not the chosen entry's.
  std::string config() const;

 private:
  void choose(const std::vector<core::OptionList::Member>& members);
  void refuse(const core::OptionInfo& option);
  std::optional<std::string> unused(const std::string& option) const;  ///< why the option has no effect

  const CLI::App& parser_;
  std::map<std::string, std::string> reasons_;  // by option
  std::set<std::string> switched_off_;
  std::set<std::string> own_defaults_;      // options that have another default in a chosen entry than in the parser
  std::map<std::string, std::string> off_;  // value without effect, by option
};

/// The use of the options that the arguments describe. Throws ConfigError for unknown names.
template <class Arguments>
OptionUse use_of(const CLI::App& parser, Arguments& arguments) {
  core::OptionList list;
  arguments.describe(list);
  list.require_valid();
  return {parser, list};
}

}  // namespace paragrad::cli
