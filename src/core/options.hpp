#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/join.hpp"
#include "core/limits.hpp"
#include "core/option_info.hpp"
#include "core/units.hpp"

namespace paragrad::core {

/// Continues the description of an option: list.choice("l2-on", …).when(l2 > 0, "has no effect without `l2`: give both").
/// What depends on values is evaluated with those that the owner has when it describes itself.
class DescribedOption {
 public:
  explicit DescribedOption(OptionInfo& info) : info_(&info) {}

  /// It has an effect only then; otherwise giving it is an error. why, refines: see OptionInfo::unused, refines.
  DescribedOption when(bool used, const std::string& why, const std::string& refines = "") const {
    if (!used && info_->unused.empty()) {
      info_->unused = why;
      info_->refines = refines;
    }
    return *this;
  }

  /// It cannot be combined with another option. why: what follows its name in the message.
  DescribedOption unless(bool conflict, const std::string& why) const {
    if (conflict && info_->refused.empty()) info_->refused = why;
    return *this;
  }

  /// This value may be given even if the option has no effect, since it switches off what is absent anyway.
  DescribedOption off(const std::string& value) const {
    info_->off = value;
    return *this;
  }

  /// Its text is the path of a file or a folder.
  DescribedOption path() const {
    info_->kind = "PATH";
    return *this;
  }

  template <class... Marks>
  DescribedOption mark(Marks... marks) const {
    info_->marks.insert({marks...});
    return *this;
  }

  /// On the command line, not in files.
  DescribedOption typed_only() const {
    info_->typed_only = true;
    return *this;
  }

  /// There is no value unless one is given, and then perhaps what a text says instead.
  DescribedOption without_default(const std::string& instead = "") const {
    info_->by_default = instead;
    return *this;
  }

  /// Values that help and completion show. They restrict nothing: whoever uses the value does.
  DescribedOption known(const std::vector<std::string>& values) const {
    info_->values = values;
    return *this;
  }

  /// Its text is one number or several, perhaps with additions.
  DescribedOption of_numbers(const std::string& range) const {
    info_->kind = "FLOAT,...";
    info_->range = range;
    return *this;
  }

  /// It must be given.
  DescribedOption required() const {
    info_->required = true;
    return *this;
  }

  /// Some texts stand for others, such as the name of a file for its content.
  DescribedOption expand(std::function<std::string(const std::string&)> function) const {
    info_->expand = std::move(function);
    return *this;
  }

 private:
  OptionInfo* info_;
};

/// The parts between commas. Throws OptionError if one is empty.
std::vector<std::string> list_of(const std::string& option, const std::string& text);

/// The options with the values of `settings`. Throws OptionError.
template <class Options>
Options read_options(const Settings& settings, Options options = {});

/// A struct of options describes its members once, in `void describe(core::OptionList& list)`. From this description come
/// the command line, configuration files, help, completions and manual, and the reading of values.
class OptionList {
 public:
  /// An option as described, and what sets its member.
  struct Member {
    OptionInfo info;
    std::function<void(const std::string&)> set;
  };

  /// chosen_as: of an entry that describes itself, see there.
  explicit OptionList(std::string chosen_as = "") : chosen_as_(std::move(chosen_as)) {}

  /// Heading of the options described next.
  void group(std::string name) { group_ = std::move(name); }

  /// In its lifetime, described options have an effect only if `used`: see DescribedOption::when.
  class Condition {
   public:
    Condition(OptionList& list, bool used, std::string why, std::string refines) : list_(list) {
      list_.conditions_.push_back({used, std::move(why), std::move(refines)});
    }
    ~Condition() { list_.conditions_.pop_back(); }
    Condition(const Condition&) = delete;

   private:
    OptionList& list_;
  };
  [[nodiscard]] Condition only_when(bool used, std::string why, std::string refines = "") {
    return {*this, used, std::move(why), std::move(refines)};
  }

  template <class T>
  DescribedOption number(const std::string& name, T& value, std::type_identity_t<Limits<T>> limits,
                         const std::string& help) {
    const auto parse = [name, limits](const std::string& text) { return parse_number<T>(name, text, limits); };
    return add({.name = name,
                .kind = kind_of<T>(),
                .range = core::describe(limits),
                .by_default = format("{}", value),
                .help = help,
                .check = parse},
               [&value, parse](const std::string& text) { value = parse(text); });
  }

  /// A number that may be left to the program: "auto".
  template <class T>
  DescribedOption number(const std::string& name, std::optional<T>& value, std::type_identity_t<Limits<T>> limits,
                         const std::string& help) {
    const auto parse = [name, limits](const std::string& text) {
      return text == "auto" ? std::nullopt : std::optional(parse_number<T>(name, text, limits));
    };
    return add({.name = name,
                .kind = kind_of<T>(),
                .range = core::describe(limits),
                .by_default = value ? format("{}", *value) : "auto",
                .help = help,
                .check = parse},
               [&value, parse](const std::string& text) { value = parse(text); });
  }

  /// Numbers separated by commas.
  template <class T>
  DescribedOption numbers(const std::string& name, std::vector<T>& values, std::type_identity_t<Limits<T>> limits,
                          const std::string& help) {
    const auto parse = [name, limits](const std::string& text) {
      std::vector<T> result;
      for (const std::string& piece : list_of(name, text)) result.push_back(parse_number<T>(name, piece, limits));
      return result;
    };
    return add({.name = name,
                .kind = format("{},...", kind_of<T>()),
                .range = core::describe(limits),
                .by_default = format("{}", join(values, ",")),
                .help = help,
                .check = parse},
               [&values, parse](const std::string& text) { values = parse(text); });
  }

  /// Words separated by commas.
  DescribedOption words(const std::string& name, std::vector<std::string>& values, const std::string& help);

  /// A word of the command line, or all that are left, by their place instead of a name.
  DescribedOption argument(const std::string& name, std::string& value, const std::string& help);
  DescribedOption arguments(const std::string& name, std::vector<std::string>& values, const std::string& help);

  DescribedOption flag(const std::string& name, bool& value, const std::string& help);

  DescribedOption text(const std::string& name, std::string& value, const std::string& help);

  /// A text that stands for a value of another type. parse: throws ConfigError for one that does not. now: the text of
  /// `value`.
  template <class T>
  DescribedOption parsed(const std::string& name, T& value, std::function<T(const std::string&)> parse,
                         const std::string& now, const std::string& help) {
    return add({.name = name, .kind = "TEXT", .by_default = now, .help = help, .check = parse},
               [&value, parse](const std::string& text) { value = parse(text); });
  }

  /// "22.5min", in the unit's own measure; not negative.
  DescribedOption quantity(const std::string& name, double& value, Unit unit, const std::string& help);

  /// One of a few names.
  template <class T>
  DescribedOption choice(const std::string& name, T& value, const std::vector<std::pair<std::string, T>>& values,
                         const std::string& help) {
    const auto parse = [name, values](const std::string& text) {
      return values[index_of(name, text, names_of(values))].second;
    };
    OptionInfo info{.name = name, .kind = "TEXT", .help = help, .check = parse};
    for (const auto& [text, one] : values) {
      info.values.push_back(text);
      if (one == value) info.by_default = text;
    }
    return add(std::move(info), [&value, parse](const std::string& text) { value = parse(text); });
  }
  DescribedOption choice(const std::string& name, std::string& value, const std::vector<std::string>& values,
                         const std::string& help);

  /// An entry of a catalogue, by its name and perhaps parameter. The entry's own options become options of this list's
  /// owner.
  DescribedOption entry(const std::string& name, std::string& value, std::function<CatalogueInfo()> catalogue,
                        const std::string& help);

  /// The options of a catalogue's entries, and of those that they choose from other catalogues: each once, under the
  /// headings of the entries. Given values become settings. chosen: entry whose conditions hold.
  void entries(const CatalogueInfo& catalogue, const std::string& chosen, Settings& settings);

  /// The options of a part that reads them from `settings`. Given values become settings.
  template <class Options>
  void part(Settings& settings) {
    auto options = read_options<Options>(settings);
    const std::size_t first = members_.size();
    options.describe(*this);
    for (std::size_t i = first; i < members_.size(); ++i) keep_in(settings, members_[i]);
  }

  /// An option that is described elsewhere has an effect on this list's owner.
  void uses(const std::string& name) {
    add({.name = name}, [](const std::string&) {});
  }

  /// The option described before, for a condition that only another part knows.
  DescribedOption described(const std::string& name);

  /// Of an entry that describes itself because it was chosen: the text that chose it, its parameter included; otherwise "".
  const std::string& chosen_as() const { return chosen_as_; }

  /// Sets the described values from `settings`, ignoring all others. Throws OptionError.
  void read(const Settings& settings) const;

  /// Throws ConfigError for a member whose value is outside its range, or cannot be combined with another's.
  void require_valid() const;

  std::vector<OptionInfo> infos() const;
  const std::vector<Member>& members() const { return members_; }

 private:
  struct Required {
    bool used;
    std::string why, refines;
  };

  template <class T>
  static std::vector<std::string> names_of(const std::vector<std::pair<std::string, T>>& values) {
    std::vector<std::string> names;
    for (const auto& [name, _] : values) names.push_back(name);
    return names;
  }
  static std::size_t index_of(const std::string& option, const std::string& text, const std::vector<std::string>& names);
  void collect(const CatalogueInfo& catalogue, Settings& settings);
  static void keep_in(Settings& settings, Member& member);
  void judge(const EntryInfo& entry, const std::string& chosen, const Settings& settings);
  OptionInfo* find(const std::string& name);
  DescribedOption add(OptionInfo info, std::function<void(const std::string&)> set);

  std::string chosen_as_;
  std::string group_;
  std::vector<Required> conditions_;
  std::vector<Member> members_;
};

/// Throws ConfigError: see OptionList::require_valid.
template <class Options>
void require_valid(Options options) {
  OptionList list;
  options.describe(list);
  list.require_valid();
}

struct NoOptions {
  void describe(OptionList&) {}
};

/// What `Options` describes.
template <class Options>
EntryOptions options_of(Options defaults = {}) {
  return EntryOptions([defaults](const Settings& settings, const std::string& chosen_as) {
    Options options = read_options(settings, defaults);
    OptionList list(chosen_as);
    options.describe(list);
    return list.infos();
  });
}

template <class Options>
Options read_options(const Settings& settings, Options options) {
  OptionList list;
  options.describe(list);
  list.read(settings);
  return options;
}

/// "true", "on", "yes", "1" and their opposites. Throws OptionError.
bool parse_flag(const std::string& option, const std::string& text);

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
CatalogueInfo info_of(std::string kind, std::string plural, const std::vector<Entry>& entries, std::string in_text = "") {
  CatalogueInfo result{std::move(kind), std::move(plural), {}, std::move(in_text)};
  for (const Entry& entry : entries) result.entries.push_back(entry.info);
  return result;
}

/// The values of the entry's own options, given or default.
std::map<std::string, std::string> values_of(const EntryInfo& entry, const Settings& settings);

/// Throws ConfigError for a setting that is none of the options of what `whose` names: "resnet has no 'dept'; it takes
/// depth, side".
void check_keys(std::string_view whose, const EntryOptions& options, const Settings& settings);

/// Throws ConfigError for a setting that is no option of the entry or of the entries it chooses from other catalogues. kind:
/// of the entry, "strategy".
void check_settings(const EntryInfo& entry, std::string_view kind, const Settings& settings);

}  // namespace paragrad::core
