#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/space.hpp"

namespace paragrad::search {

/// Options of a run, without its seed, and the method that they belong to.
struct Configuration {
  Values values{};
  std::string method{};  ///< empty in a search without [[run]]
};

/// What a search tries: one space or, for methods that are compared with each other, a space of each.
class Methods {
 public:
  /// name: empty for the only one. Throws ConfigError for a name that is there already.
  void add(std::string name, Space space);

  bool are_compared() const;  ///< they have names
  bool has_ranges() const;
  std::vector<std::string> varied() const;  ///< options that vary within a method, in the order of the file

  /// Of one method after the other, see Space::configurations().
  std::vector<Configuration> configurations(std::size_t draws, std::uint64_t seed) const;

 private:
  struct Method {
    std::string name;
    Space space;
  };
  std::vector<Method> methods_;
};

}  // namespace paragrad::search
