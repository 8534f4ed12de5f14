#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/limits.hpp"

namespace paragrad::core {

struct CatalogueInfo;

/// What users are told about an option of a catalogue's entry.
struct OptionInfo {
  std::string name;     ///< "block-momentum": the key of configuration files, with dashes before it the flag
  std::string group{};  ///< heading in the help
  std::string kind{};   ///< BOOLEAN, INT, UINT, FLOAT or TEXT; "" if it is described elsewhere (OptionList::uses)
  std::string range{};  ///< of a number, "0 to below 1"
  std::vector<std::string> values{};  ///< of a choice
  std::string by_default{};
  std::string help{};
  std::function<void(const std::string&)> check{};  ///< throws OptionError for a text that is no value
  std::function<CatalogueInfo()> catalogue{};       ///< if the value names one of its entries
};

/// An entry of a catalogue: a strategy, a compression, an optimiser.
struct EntryInfo {
  std::string name;
  std::string parameter{};  ///< syntax of what follows the name, ":K"; "" for none
  std::string example{};    ///< of a parameter that must be given, ":1"
  std::string summary{};    ///< one phrase without a full stop
  std::string source{};     ///< publication or program
  std::string formula{};    ///< lines
  std::vector<OptionInfo> options{};
  std::vector<std::string> serves{};  ///< where the entries of a catalogue serve different purposes: names of this one's

  /// "summary (source)"
  std::string description() const { return source.empty() ? summary : format("{} ({})", summary, source); }
};

struct CatalogueInfo {
  std::string kind;    ///< "strategy": also the name of the option that chooses from it
  std::string plural;  ///< "strategies"
  std::vector<EntryInfo> entries;

  std::vector<std::string> names() const;
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

/// A struct of options describes its members once, in `void describe(core::OptionList& list)`. From this description come
/// the command line, configuration files, help, completions and manual, and the reading of values.
class OptionList {
 public:
  /// Heading of the options described next.
  void group(std::string name) { group_ = std::move(name); }

  template <class T>
  void number(const std::string& name, T& value, std::type_identity_t<Limits<T>> limits, const std::string& help) {
    const auto parse = [name, limits](const std::string& text) { return parse_number<T>(name, text, limits); };
    add({.name = name,
         .kind = kind_of<T>(),
         .range = core::describe(limits),
         .by_default = format("{}", value),
         .help = help,
         .check = parse},
        [&value, parse](const std::string& text) { value = parse(text); });
  }

  /// A number that may be left to the program: "auto".
  template <class T>
  void number(const std::string& name, std::optional<T>& value, std::type_identity_t<Limits<T>> limits,
              const std::string& help) {
    const auto parse = [name, limits](const std::string& text) {
      return text == "auto" ? std::nullopt : std::optional(parse_number<T>(name, text, limits));
    };
    add({.name = name,
         .kind = kind_of<T>(),
         .range = core::describe(limits),
         .by_default = value ? format("{}", *value) : "auto",
         .help = help,
         .check = parse},
        [&value, parse](const std::string& text) { value = parse(text); });
  }

  /// Numbers separated by commas.
  void numbers(const std::string& name, std::vector<double>& values, Limits<double> limits, const std::string& help);

  void flag(const std::string& name, bool& value, const std::string& help);

  void text(const std::string& name, std::string& value, const std::string& help);

  /// One of a few names.
  template <class T>
  void choice(const std::string& name, T& value, const std::vector<std::pair<std::string, T>>& values,
              const std::string& help) {
    const auto parse = [name, values](const std::string& text) {
      return values[index_of(name, text, names_of(values))].second;
    };
    OptionInfo info{.name = name, .kind = "TEXT", .help = help, .check = parse};
    for (const auto& [text, one] : values) {
      info.values.push_back(text);
      if (one == value) info.by_default = text;
    }
    add(std::move(info), [&value, parse](const std::string& text) { value = parse(text); });
  }

  /// An entry of a catalogue, by its name and perhaps parameter. The entry's own options become options of this list's
  /// owner.
  void entry(const std::string& name, std::string& value, std::function<CatalogueInfo()> catalogue, const std::string& help);

  /// An option that is described elsewhere has an effect on this list's owner.
  void uses(const std::string& name) {
    add({.name = name}, [](const std::string&) {});
  }

  /// Sets the described values from `settings`, ignoring all others. Throws OptionError.
  void read(const Settings& settings) const;

  std::vector<OptionInfo> infos() const;

 private:
  struct Member {
    OptionInfo info;
    std::function<void(const std::string&)> set;
  };

  template <class T>
  static std::vector<std::string> names_of(const std::vector<std::pair<std::string, T>>& values) {
    std::vector<std::string> names;
    for (const auto& [name, _] : values) names.push_back(name);
    return names;
  }
  static std::size_t index_of(const std::string& option, const std::string& text, const std::vector<std::string>& names);
  void add(OptionInfo info, std::function<void(const std::string&)> set);

  std::string group_;
  std::vector<Member> members_;
};

struct NoOptions {
  void describe(OptionList&) {}
};

/// What `Options` describes, with its defaults.
template <class Options>
std::vector<OptionInfo> options_of(Options options = {}) {
  OptionList list;
  options.describe(list);
  return list.infos();
}

/// The options with the values of `settings`. Throws OptionError.
template <class Options>
Options read_options(const Settings& settings, Options options = {}) {
  OptionList list;
  options.describe(list);
  list.read(settings);
  return options;
}

/// The name in "name:parameter".
std::string_view without_parameter(std::string_view name);

/// The entry of that name; a parameter is not checked where it takes one. Throws ConfigError: "unknown strategy 'bmfu'; did
/// you mean bmuf? (known: …)", "strategy 'bmuf:3' takes no parameter: write bmuf".
template <class Entry>
const Entry& find_entry(std::string_view kind, std::string_view name, const std::vector<Entry>& entries) {
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (entry.info.name == without_parameter(name)) {
      if (!entry.info.parameter.empty() || entry.info.name == name) return entry;
      throw ConfigError(format("{} '{}' takes no parameter: write {}", kind, name, entry.info.name));
    }
    known.push_back(entry.info.name + entry.info.parameter);
  }
  throw unknown_name(kind, name, known);
}

/// A catalogue's entries without the code behind them.
template <class Entry>
CatalogueInfo info_of(std::string kind, std::string plural, const std::vector<Entry>& entries) {
  CatalogueInfo result{std::move(kind), std::move(plural), {}};
  for (const Entry& entry : entries) result.entries.push_back(entry.info);
  return result;
}

/// The values of the entry's own options, given or default.
std::map<std::string, std::string> values_of(const EntryInfo& entry, const Settings& settings);

/// The parts between commas. Throws OptionError if one is empty.
std::vector<std::string> list_of(const std::string& option, const std::string& text);

/// Throws ConfigError for a setting that is none of the options of what `whose` names: "resnet has no 'dept'; it takes
/// depth, side".
void check_keys(std::string_view whose, const std::vector<OptionInfo>& options, const Settings& settings);

/// Throws ConfigError for a setting that is no option of the entry or of the entries it chooses from other catalogues. kind:
/// of the entry, "strategy".
void check_settings(const EntryInfo& entry, std::string_view kind, const Settings& settings);

}  // namespace paragrad::core
