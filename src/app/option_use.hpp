#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/training.hpp"

namespace paragrad::app {

/// Which options of a parser do nothing, given what others chose. An option that was given and does nothing is an error: the
/// user meant something by it.
class OptionUse {
 public:
  explicit OptionUse(const CLI::App& parser) : parser_(parser) {}

  /// What a choice among the entries of a catalogue is about.
  struct Entry {
    std::string name;
    std::string options;  ///< that the entry uses, separated by spaces
  };
  struct Catalogue {
    std::string kind;    ///< "strategy"
    std::string plural;  ///< "strategies"
    std::string chosen;  ///< a name of an entry, perhaps with a parameter after a colon
    std::vector<Entry> entries;
  };

  /// An option that entries of the catalogues name is used if one of those chosen names it. Of a catalogue that is itself
  /// chosen by an option which is not used (`--compression` without gradients to exchange) nothing is chosen.
  void choose(const std::vector<Catalogue>& catalogues);

  /// Unless `used`, those options are not. why: what follows their name in the message, "needs --auto-minibatch".
  /// whole: the option of which they are the details. Where that was given, to switch it off, they are no mistake.
  void require(bool used, const std::vector<std::string>& options, const std::string& why, const std::string& whole = "");

  /// Nothing, or why the option of that name (without dashes) does nothing.
  std::optional<std::string> unused(const std::string& option) const;

  /// Whether the option was given, on the command line or in --config.
  bool given(const std::string& option) const;

  /// Throws ConfigError for the first option that was given and does nothing. A value that switches off what is not there
  /// (false, and 0 or "none" of some) is no mistake.
  void check() const;

  /// The parser's options as for --config, without those that do nothing.
  std::string config() const;

 private:
  const CLI::App& parser_;
  std::map<std::string, std::string> reasons_;  // by option
  std::set<std::string> switched_off_;
};

/// Of a catalogue whose entries name their options.
template <class Catalogue>
std::vector<OptionUse::Entry> entries_of(const Catalogue& catalogue) {
  std::vector<OptionUse::Entry> result;
  for (const auto& entry : catalogue) result.push_back({entry.name, entry.options});
  return result;
}

/// Of a training. computes: on a device that does. Throws ConfigError where a model's or a
/// catalogue's name is unknown.
OptionUse use_of_training(const CLI::App& parser, const TrainingArguments& arguments, bool computes);

/// Whether a model is trained on sequences, and so has a use for --chunks.
void require_recurrent(OptionUse& use, const std::string& model);

}  // namespace paragrad::app
