#include "sim/platform_changes.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"

namespace paragrad::sim {
namespace {

constexpr std::size_t most_variants = 10'000;

/// One per value of a word.
PlatformChanges changes_of(const std::string& word) {
  const auto refuse = [&](const char* why) {
    return core::ConfigError(core::format("'{}' {}, and a value to vary is written like leaf.bandwidth=1MBps/10MBps",
                                          core::printable(word), why));
  };
  const std::size_t equals = word.find('='), dot = word.find('.');
  if (equals == std::string::npos) throw refuse("has no =");
  if (dot > equals || dot == 0 || dot + 1 == equals || word.find('.', dot + 1) < equals)
    throw refuse("does not begin with a section and its key");
  PlatformChanges changes;
  for (std::size_t begin = equals + 1; begin <= word.size();) {
    const std::size_t end = std::min(word.find('/', begin), word.size());
    if (begin == end) throw refuse("lacks a value");
    changes.push_back({word.substr(0, dot), word.substr(dot + 1, equals - dot - 1), word.substr(begin, end - begin)});
    begin = end + 1;
  }
  return changes;
}

}  // namespace

std::vector<PlatformChanges> platform_variants(const std::vector<std::string>& words) {
  std::vector<PlatformChanges> variants(1);
  for (const std::string& word : words) {
    const PlatformChanges of_word = changes_of(word);
    const PlatformChange& first = of_word.front();
    for (const PlatformChange& other : variants.front())
      if (other.section == first.section && other.key == first.key)
        throw core::ConfigError(
            core::format("{}.{} is to be varied twice", core::printable(first.section), core::printable(first.key)));
    if (variants.size() * of_word.size() > most_variants)
      throw core::ConfigError(core::format("these are more than {} combinations of values", most_variants));
    std::vector<PlatformChanges> longer;
    for (const PlatformChanges& variant : variants)
      for (const PlatformChange& change : of_word) {
        longer.push_back(variant);
        longer.back().push_back(change);
      }
    variants = std::move(longer);
  }
  return variants;
}

std::string values_of(const PlatformChanges& changes) {
  std::string values;
  for (const PlatformChange& change : changes) values += (values.empty() ? "" : "/") + change.value;
  return values;
}

}  // namespace paragrad::sim
