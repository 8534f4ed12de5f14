#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/errors.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::test {

/// Whether the entry has an option of this name, or one from whose catalogue an entry with it can be chosen.
inline bool may_have(const core::EntryInfo& info, const std::string& name) {
  return std::any_of(info.options.begin(), info.options.end(), [&](const core::OptionInfo& option) {
    if (option.name == name || !option.catalogue) return option.name == name;
    return std::ranges::any_of(option.catalogue().entries,
                               [&](const core::EntryInfo& below) { return may_have(below, name); });
  });
}

/// Those of the settings that the strategy has, itself or through what it chooses by them: for claims about several
/// strategies. Throws std::logic_error for one that no strategy can have.
inline core::Settings used_by(const std::string& strategy, const core::Settings& settings) {
  const core::EntryInfo& info = strategies::strategy_entry(strategy).info;
  const auto& all = strategies::strategies();
  core::Settings used;
  for (const core::OptionInfo& option : info.options)
    if (const auto found = settings.find(option.name); found != settings.end()) used.insert(*found);
  for (const auto& setting : settings) {
    if (std::ranges::none_of(all, [&](const auto& entry) { return may_have(entry.info, setting.first); }))
      throw std::logic_error("no strategy has the option " + setting.first);
    core::Settings more = used;
    more.insert(setting);
    try {
      core::check_settings(info, "strategy", more);
      used = more;
    } catch (const core::ConfigError&) {  // it does not have this one with these choices
    }
  }
  return used;
}

}  // namespace paragrad::test
