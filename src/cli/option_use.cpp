#include "cli/option_use.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <sstream>

#include "cli/option_values.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/numbers.hpp"

namespace paragrad::cli {
namespace {

/// A choice among the entries of a catalogue.
struct Entry {
  std::string name;
  std::map<std::string, std::string> defaults;  ///< of the options that the entry uses

  bool uses(const std::string& option) const { return defaults.contains(option); }
  auto options() const { return std::views::keys(defaults); }
};
struct Catalogue {
  std::string option;  ///< that chooses
  std::string kind;    ///< "strategy"
  std::string plural;  ///< "strategies"
  std::string chosen;  ///< an entry's name, possibly with a parameter after a colon
  std::vector<Entry> entries;
};
using Catalogues = std::vector<Catalogue>;

Catalogue choice_by(const core::OptionInfo& choosing) {
  const core::CatalogueInfo catalogue = choosing.catalogue();
  Catalogue result{choosing.name, catalogue.kind, catalogue.plural, choosing.chosen, {}};
  for (const core::EntryInfo& entry : catalogue.entries) {
    result.entries.push_back({entry.name, {}});
    for (const core::OptionInfo& option : entry.options)
      result.entries.back().defaults.emplace(option.name, option.by_default);
  }
  return result;
}

/// Whether an entry uses the option, directly or through another catalogue that it uses.
bool may_use(const Entry& entry, const std::string& option, const Catalogues& catalogues) {
  return entry.uses(option) || std::ranges::any_of(catalogues, [&](const auto& other) {
           return entry.uses(other.option) &&
                  std::ranges::any_of(other.entries, [&](const auto& below) { return may_use(below, option, catalogues); });
         });
}

std::vector<std::string> users_of(const std::string& option, const Catalogue& catalogue, const Catalogues& catalogues) {
  std::vector<std::string> users;
  for (const auto& entry : catalogue.entries)
    if (may_use(entry, option, catalogues)) users.push_back(entry.name);
  return users;
}

/// "the strategy diloco", "the optimisers adam and adamw"
std::string listed(const Catalogue& catalogue, const std::vector<std::string>& entries) {
  if (entries.size() == 1) return core::format("the {} {}", catalogue.kind, entries.front());
  const std::vector<std::string> most(entries.begin(), entries.end() - 1);
  return core::format("the {} {} and {}", catalogue.plural, core::join(most, ", "), entries.back());
}

/// ", but --collective and --balance"; "" if the chosen entry has no options.
std::string options_instead(const Catalogue& catalogue) {
  for (const Entry& entry : catalogue.entries)
    if (entry.name == core::without_parameter(catalogue.chosen) && !entry.defaults.empty()) {
      const auto own = entry.options();
      return core::format(" (its own: --{})", core::join(std::vector<std::string>(own.begin(), own.end()), ", --"));
    }
  return "";
}

/// Whether the value is the one that may be given without effect; of numbers, 0 and 0.0 are the same.
bool is_off(const std::string& off, const std::string& value) {
  if (off.empty() || value == off) return !off.empty();
  const auto number = core::number_of<double>(off);
  return number && number == core::number_of<double>(value);
}

bool is_switch(const CLI::Option& option) { return value_kind(option) == "BOOLEAN" || option.get_expected_min() == 0; }

std::string value_of(const CLI::Option& option) { return option.results().empty() ? "" : option.results().back(); }

}  // namespace

bool OptionUse::given(const std::string& option) const {
  const CLI::Option* const found = parser_.get_option_no_throw("--" + option);
  return found != nullptr && found->count() > 0;
}

void OptionUse::refuse(const core::OptionInfo& option) {
  reasons_.emplace(option.name, core::format("--{} {}", option.name, option.unused));
  if (!option.refines.empty() && given(option.refines)) switched_off_.insert(option.name);
}

OptionUse::OptionUse(const CLI::App& parser, const core::OptionList& list) : parser_(parser) {
  choose(list.members());
  for (const auto& [info, _] : list.members()) {
    off_[info.name] = info.off;
    if (!info.unused.empty()) refuse(info);
  }
}

void OptionUse::choose(const std::vector<core::OptionList::Member>& members) {
  Catalogues catalogues;
  for (const auto& [info, _] : members)
    if (info.catalogue) catalogues.push_back(choice_by(info));
  std::set<std::string> claimed, used;
  std::map<std::string, std::string> shown;  // the parser's defaults: of the first entry that has an option
  for (const Catalogue& catalogue : catalogues)
    for (const Entry& entry : catalogue.entries) {
      claimed.insert(entry.options().begin(), entry.options().end());
      shown.insert(entry.defaults.begin(), entry.defaults.end());
    }
  // A catalogue is active if nothing claims its option, or an active entry uses it; which of the two comes first in the list
  // does not matter.
  std::vector<const Catalogue*> active;
  const auto becomes_active = [&](const Catalogue& catalogue) {
    return std::ranges::find(active, &catalogue) == active.end() &&
           (!claimed.contains(catalogue.option) || used.contains(catalogue.option));
  };
  for (auto found = std::ranges::find_if(catalogues, becomes_active); found != catalogues.end();
       found = std::ranges::find_if(catalogues, becomes_active)) {
    active.push_back(&*found);
    for (const Entry& entry : found->entries) {
      if (entry.name != core::without_parameter(found->chosen)) continue;
      used.insert(entry.options().begin(), entry.options().end());
      for (const auto& [option, by_default] : entry.defaults)
        if (by_default != shown.at(option)) own_defaults_.insert(option);
    }
  }
  for (const std::string& option : claimed) {
    if (used.contains(option)) continue;
    // The reason given is the last choice that could have been different.
    for (auto catalogue = active.rbegin(); catalogue != active.rend(); ++catalogue) {
      const std::vector<std::string> users = users_of(option, **catalogue, catalogues);
      if (users.empty()) continue;
      reasons_.emplace(option, core::format("--{} is an option of {}; {} does not use it{}", option,
                                            listed(**catalogue, users), (*catalogue)->chosen, options_instead(**catalogue)));
      break;
    }
  }
}

std::optional<std::string> OptionUse::unused(const std::string& option) const {
  const auto found = reasons_.find(option);
  return found == reasons_.end() ? std::nullopt : std::optional(found->second);
}

void OptionUse::check() const {
  for (const CLI::Option* option : named_options(parser_)) {
    const std::string name = option->get_single_name();
    const auto why = option->count() > 0 ? unused(name) : std::nullopt;
    if (!why || switched_off_.contains(name)) continue;
    const auto described = off_.find(name);
    const bool off =
        is_switch(*option) ? !option->as<bool>() : described != off_.end() && is_off(described->second, value_of(*option));
    if (!off) throw core::ConfigError(*why);
  }
}

std::string OptionUse::config() const {
  std::istringstream all(parser_.config_to_str(true));
  std::string result;
  for (std::string line; std::getline(all, line);) {
    const std::string option = line.substr(0, line.find('='));
    const bool is_another_default = own_defaults_.contains(option) && !given(option);
    if (!unused(option) && !is_another_default) result += line + "\n";
  }
  return result;
}

void OptionUse::keep_used(core::Settings& settings) const {
  std::erase_if(settings, [&](const auto& setting) { return unused(setting.first).has_value(); });
}

}  // namespace paragrad::cli
