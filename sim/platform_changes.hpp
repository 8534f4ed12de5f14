#pragma once

#include <string>
#include <vector>

namespace paragrad::sim {

/// A value in place of that of a platform file, or of one that it lacks: `key` of [section], not of a section that may be
/// repeated. The value is as in the file, where a text may lack its quotes.
struct PlatformChange {
  std::string section;
  std::string key;
  std::string value;
};

using PlatformChanges = std::vector<PlatformChange>;

/// Every combination of values: each word, "leaf.bandwidth=1MBps/10MBps", has the values of one key, and those of the last
/// word vary fastest. One combination without changes for no words. Throws ConfigError for a word of another form, a key
/// that is there twice, and more than 10,000 combinations.
std::vector<PlatformChanges> platform_variants(const std::vector<std::string>& words);

/// "1MBps/0.5"; "" for no changes.
std::string values_of(const PlatformChanges& changes);

}  // namespace paragrad::sim
