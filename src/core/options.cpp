#include "core/options.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "core/join.hpp"
#include "core/names.hpp"

namespace paragrad::core {
namespace {

constexpr std::size_t most_users = 4;  // named in the help of an option

/// Adds the options that the entry has with these settings, its choices from other catalogues included.
void add_names(const EntryInfo& entry, const Settings& settings, std::set<std::string>& names) {
  for (const OptionInfo& option : entry.options) {
    names.insert(option.name);
    if (!option.catalogue) continue;
    const auto given = settings.find(option.name);
    const std::string chosen = given == settings.end() ? option.by_default : given->second.text();
    for (const EntryInfo& below : option.catalogue().entries)
      if (below.name == without_parameter(chosen)) add_names(below, settings, names);
  }
}

}  // namespace

bool parse_flag(const std::string& option, const std::string& text) {
  for (const char* yes : {"true", "on", "yes", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "off", "no", "0"})
    if (text == no) return false;
  throw OptionError(option, format("'{}' is neither true nor false", text));
}

std::vector<std::string> CatalogueInfo::names() const {
  std::vector<std::string> result;
  for (const EntryInfo& entry : entries) result.push_back(entry.name);
  return result;
}

std::string CatalogueInfo::choice(const std::string& entry) const {
  if (in_text.empty()) return format("`{}` {}", kind, entry);
  const std::size_t place = in_text.find("{}");
  return in_text.substr(0, place) + entry + in_text.substr(place + 2);
}

DescribedOption OptionList::words(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  const auto parse = [name](const std::string& text) { return list_of(name, text); };
  return add({.name = name, .kind = "TEXT,...", .by_default = format("{}", join(values, ",")), .help = help, .check = parse},
             [&values, parse](const std::string& text) { values = parse(text); });
}

DescribedOption OptionList::argument(const std::string& name, std::string& value, const std::string& help) {
  return add({.name = name, .kind = "TEXT", .by_default = value, .help = help, .positional = true},
             [&value](const std::string& text) { value = text; });
}

DescribedOption OptionList::arguments(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return add({.name = name,
              .kind = "TEXT",
              .help = help,
              .positional = true,
              .many = true,
              .value = format("{}", join(values, " "))},
             [&values](const std::string& text) { values.push_back(text); });
}

DescribedOption OptionList::flag(const std::string& name, bool& value, const std::string& help) {
  const auto parse = [name](const std::string& text) { return parse_flag(name, text); };
  return add({.name = name,
              .kind = "BOOLEAN",
              .by_default = value ? "true" : "false",
              .help = help,
              .check = parse,
              .off = "false"},
             [&value, parse](const std::string& text) { value = parse(text); });
}

DescribedOption OptionList::text(const std::string& name, std::string& value, const std::string& help) {
  return add({.name = name, .kind = "TEXT", .by_default = value, .help = help},
             [&value](const std::string& text) { value = text; });
}

DescribedOption OptionList::quantity(const std::string& name, double& value, Unit unit, const std::string& help) {
  const auto parse = [name, unit](const std::string& text) {
    try {
      if (const double parsed = parse_quantity(text, unit); parsed >= 0) return parsed;
    } catch (const ConfigError& error) {
      throw OptionError(name, error.what());
    }
    throw OptionError(name, format("{} is negative", text));
  };
  const DescribedOption described = parsed<double>(name, value, parse, format_quantity(value, unit), help);
  find(name)->value = format("{}{}", value, base_unit(unit));  // format_quantity rounds
  return described;
}

DescribedOption OptionList::choice(const std::string& name, std::string& value, const std::vector<std::string>& values,
                                   const std::string& help) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& one : values) pairs.emplace_back(one, one);
  return choice<std::string>(name, value, pairs, help);
}

DescribedOption OptionList::entry(const std::string& name, std::string& value, std::function<CatalogueInfo()> catalogue,
                                  const std::string& help) {
  return add(
      {.name = name, .kind = "TEXT", .by_default = value, .help = help, .catalogue = std::move(catalogue), .chosen = value},
      [&value](const std::string& text) { value = text; });
}

void OptionList::entries(const CatalogueInfo& catalogue, const std::string& chosen, Settings& settings) {
  const std::string before = group_;
  collect(catalogue, settings);
  for (const EntryInfo& entry : catalogue.entries)
    if (entry.name == without_parameter(chosen)) judge(entry, chosen, settings);
  group_ = before;
}

/// An option of two catalogues belongs to the outer one.
void OptionList::collect(const CatalogueInfo& catalogue, Settings& settings) {
  std::vector<CatalogueInfo> inner;
  std::map<std::string, std::vector<std::string>> users;
  std::vector<OptionInfo> found;
  for (const EntryInfo& entry : catalogue.entries)
    for (const OptionInfo& option : entry.options) {
      if (option.kind.empty() || find(option.name) != nullptr) continue;
      if (!users.contains(option.name)) found.push_back(option);
      users[option.name].push_back(entry.name);
    }
  for (OptionInfo& option : found) {
    const std::string name = option.name;
    option.unused = option.refines = option.refused = "";  // these are by its defaults
    const auto given = settings.find(name);
    if (given != settings.end()) option.value = given->second.text();
    if (users[name].size() <= most_users) option.help = format("{}: {}", join(users[name], ", "), option.help);
    if (option.catalogue) {
      inner.push_back(option.catalogue());
      option.chosen = option.value;
    }
    group_ = option.group;
    add(std::move(option), nullptr);
    keep_in(settings, members_.back());
  }
  for (const CatalogueInfo& one : inner) collect(one, settings);
}

void OptionList::keep_in(Settings& settings, Member& member) {
  member.set = [name = member.info.name, check = member.info.check, &settings](const std::string& text) {
    if (check) check(text);
    settings[name] = text;
  };
}

void OptionList::judge(const EntryInfo& entry, const std::string& chosen, const Settings& settings) {
  for (const OptionInfo& judged : entry.options.with(settings, chosen)) {
    OptionInfo* const option = find(judged.name);
    if (option == nullptr) continue;
    if (!judged.unused.empty()) DescribedOption(*option).when(false, judged.unused, judged.refines);
    DescribedOption(*option).unless(!judged.refused.empty(), judged.refused);
    if (!option->catalogue || judged.kind.empty()) continue;
    for (const EntryInfo& below : option->catalogue().entries)
      if (below.name == without_parameter(option->chosen)) judge(below, option->chosen, settings);
  }
}

OptionInfo* OptionList::find(const std::string& name) {
  const auto found = std::ranges::find(members_, name, [](const Member& one) { return one.info.name; });
  return found == members_.end() ? nullptr : &found->info;
}

DescribedOption OptionList::described(const std::string& name) {
  OptionInfo* const option = find(name);
  if (option == nullptr) throw std::logic_error(format("no option `{}` has been described", name));
  return DescribedOption(*option);
}

std::size_t OptionList::index_of(const std::string& option, const std::string& text, const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) throw OptionError(option, format("'{}' is unknown; {}", text, suggestion(text, names)));
  return static_cast<std::size_t>(found - names.begin());
}

DescribedOption OptionList::add(OptionInfo info, std::function<void(const std::string&)> set) {
  OptionInfo* const known = info.kind.empty() ? find(info.name) : nullptr;  // two parts may use what is described elsewhere
  if (known == nullptr) {
    if (info.group.empty()) info.group = group_;
    if (info.value.empty()) info.value = info.by_default;
    members_.push_back({std::move(info), std::move(set)});
  }
  DescribedOption option(known == nullptr ? members_.back().info : *known);
  for (const Required& required : conditions_) option.when(required.used, required.why, required.refines);
  return option;
}

void OptionList::read(const Settings& settings) const {
  for (const Member& member : members_) {
    const auto given = settings.find(member.info.name);
    if (given != settings.end()) member.set(given->second.text());
  }
}

void OptionList::require_valid() const {
  for (const auto& [info, _] : members_) {  // described with their present values
    if (info.check && !info.by_default.empty()) info.check(info.by_default);
    if (!info.refused.empty() && info.by_default != info.off) throw ConfigError(format("`{}` {}", info.name, info.refused));
  }
}

std::vector<OptionInfo> OptionList::infos() const {
  std::vector<OptionInfo> result;
  for (const Member& member : members_) result.push_back(member.info);
  return result;
}

std::map<std::string, std::string> values_of(const EntryInfo& entry, const Settings& settings) {
  std::map<std::string, std::string> values;
  for (const OptionInfo& option : entry.options) {
    if (option.kind.empty()) continue;
    const auto given = settings.find(option.name);
    values[option.name] = given == settings.end() ? option.by_default : given->second.text();
  }
  return values;
}

std::vector<std::string> list_of(const std::string& option, const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin)
      throw OptionError(option, text.empty() ? "'' is not a list" : format("'{}' has an empty element", text));
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

std::string_view without_parameter(std::string_view name) { return name.substr(0, name.find(':')); }

void check_keys(std::string_view whose, const EntryOptions& options, const Settings& settings) {
  std::vector<std::string> names;
  for (const OptionInfo& option : options) names.push_back(option.name);
  for (const auto& [name, _] : settings)
    if (std::ranges::find(names, name) == names.end())
      throw ConfigError(format("{} has no '{}'{}{}", whose, name, names.empty() ? "" : "; it takes ", join(names, ", ")));
}

void check_settings(const EntryInfo& entry, std::string_view kind, const Settings& settings) {
  std::set<std::string> names;
  add_names(entry, settings, names);
  for (const auto& [name, _] : settings)
    if (!names.contains(name))
      throw ConfigError(names.empty() ? format("the {} {} has no options, and hence no `{}`", kind, entry.name, name)
                                      : format("the {} {} has no option `{}`; its options are `{}`", kind, entry.name, name,
                                               join(names, "`, `")));
}

}  // namespace paragrad::core
