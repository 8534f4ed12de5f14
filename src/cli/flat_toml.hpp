#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/errors.hpp"

namespace paragrad::cli {

/// A key of a TOML file without tables.
struct ConfigEntry {
  std::string file;
  int line = 0;
  std::string key;
  std::vector<std::string> values;  ///< one, or those of a list; numbers as they are written
  bool is_list = false;

  core::ConfigError error(const std::string& what) const;  ///< names file and line
};

/// The keys of a file in their order. Throws ConfigError, with file and line, for what is not TOML, for tables, for lists in
/// lists, and for dates. A line that lacks quotation marks is shown with them.
std::vector<ConfigEntry> read_flat_toml(std::string_view text, const std::string& file);

/// A file of keys, followed by tables of one name, [[name]].
struct ConfigTables {
  std::vector<ConfigEntry> keys;  ///< before the tables
  struct Table {
    int line = 0;
    std::vector<ConfigEntry> keys;
  };
  std::vector<Table> tables;
};

/// As read_flat_toml(), of a file that may have [[name]].
ConfigTables read_tables(std::string_view text, const std::string& file, std::string_view name);

/// A value as TOML: a number or true, false, inf or nan as it is, other texts as strings. is_number: of an option that takes
/// numbers, whose ".5" becomes 0.5.
std::string as_toml(const std::string& value, bool is_number = false);

/// For lines of keys and values that are to be recorded. Throws ConfigError, with the option, for a value that is not UTF-8.
void require_utf8(const std::string& config);

/// The text of such a value, which another version of the program may have written differently.
std::string text_of_toml(const std::string& value);

/// Whether two values of a file mean the same: "0.5" and .5, 1 and true.
bool same_in_toml(const std::string& a, const std::string& b);

}  // namespace paragrad::cli
