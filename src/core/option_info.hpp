#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/format.hpp"

namespace paragrad::core {

struct CatalogueInfo;

/// Properties of an option that other parts use.
enum class OptionMark {
  common,       ///< among the few that a first run needs
  observes,     ///< changes neither results nor simulated times: runs that differ in nothing else are the same
  unpredicted,  ///< a predicted run and the measured one may differ in it
  rescalable,   ///< may change when a run continues with another number of workers
  tabled,       ///< tables of runs have a column for it
  of_one_rank,  ///< ranks may differ in it
};

/// What users are told about an option, and what follows from the present values of its owner.
struct OptionInfo {
  std::string name;     ///< "block-momentum": the key of configuration files, with dashes before it the flag
  std::string group{};  ///< heading in the help
  std::string kind{};   ///< BOOLEAN, INT, UINT, FLOAT, TEXT, PATH; "" if it is described elsewhere (OptionList::uses)
  std::string range{};  ///< of a number, "0 to below 1"
  std::vector<std::string> values{};  ///< of a choice
  std::string by_default{};
  std::string help{};
  std::set<OptionMark> marks{};
  std::function<void(const std::string&)> check{};          ///< throws OptionError for a text that is no value
  std::function<CatalogueInfo()> catalogue{};               ///< if the value names one of its entries
  std::function<std::string(const std::string&)> expand{};  ///< the value that a text stands for, if it is another
  bool typed_only = false;                                  ///< on the command line, not in files
  bool required = false;
  bool positional = false;  ///< a word without the option's name
  bool many = false;        ///< such words, at least one
  std::string off{};        ///< a value that may be given even if the option has no effect

  // With the present values.
  std::string value{};    ///< as text; of an entry's option the given one, or the default
  std::string chosen{};   ///< from the catalogue
  std::string unused{};   ///< why it has no effect: what follows its name in a message, "needs `auto-minibatch`"
  std::string refines{};  ///< the option that switches on what this one adjusts; if that was given, this one is no error
  std::string refused{};  ///< why it cannot be combined with another option

  bool is(OptionMark mark) const { return marks.contains(mark); }
};

/// A value as given: the text of a number, a truth value or a name.
class Setting {
 public:
  Setting() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Setting>) Setting(const T& value) : text_(format("{}", value)) {}

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Values by option: {{"block-momentum", 0.9}, {"collective", "tree"}}. Options without a value have their defaults.
using Settings = std::map<std::string, Setting, std::less<>>;

/// The options of an entry; as a range, with their defaults.
class EntryOptions {
 public:
  using Describe = std::function<std::vector<OptionInfo>(const Settings&, const std::string& chosen_as)>;

  EntryOptions() = default;
  explicit EntryOptions(Describe describe) : describe_(std::move(describe)), infos_(describe_({}, "")) {}

  auto begin() const { return infos_.begin(); }
  auto end() const { return infos_.end(); }
  bool empty() const { return infos_.empty(); }
  std::size_t size() const { return infos_.size(); }
  const OptionInfo& operator[](std::size_t i) const { return infos_[i]; }

  /// With these values, of an entry that was chosen by this text.
  std::vector<OptionInfo> with(const Settings& settings, const std::string& chosen_as) const {
    return describe_ ? describe_(settings, chosen_as) : std::vector<OptionInfo>();
  }

 private:
  Describe describe_;
  std::vector<OptionInfo> infos_;
};

/// An entry of a catalogue: a strategy, a compression, an optimiser.
struct EntryInfo {
  std::string name;
  std::string parameter{};  ///< syntax of what follows the name, ":K"; "" for none
  std::string example{};    ///< of a parameter that must be given, ":1"
  std::string summary{};    ///< one phrase without a full stop
  std::string source{};     ///< publication or program
  std::string formula{};    ///< lines
  EntryOptions options{};
  std::vector<std::string> serves{};  ///< where the entries of a catalogue serve different purposes: names of this one's

  /// "summary (source)"
  std::string description() const { return source.empty() ? summary : format("{} ({})", summary, source); }
};

struct CatalogueInfo {
  std::string kind;    ///< "strategy": also the name of the option that chooses from it
  std::string plural;  ///< "strategies"
  std::vector<EntryInfo> entries;
  std::string in_text{};  ///< how an entry is chosen whose options are keys of a text, not of commands: "`model` zoo:{}"

  std::vector<std::string> names() const;

  /// "`strategy` bmuf", "`model` zoo:resnet"
  std::string choice(const std::string& entry) const;
};

}  // namespace paragrad::core
