#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace paragrad::speech {

/// Computes results in child processes and delivers them in order: `make(0)`, `make(1)`, … run in `jobs` children, the k-th
/// for k, k + jobs, …; `take` gets the results in this process one by one until it returns false, and the children end. So
/// `make` may use code that is not thread-safe or keeps global state, as long as its result depends only on its argument.
///
/// Each child is a fork of this process, which must have only one thread. Children run ahead by the capacity of a pipe. A
/// ConfigError in `make` is rethrown here; a child that dies gives a ConfigError; exceptions of `take` pass through.
void in_processes(std::size_t jobs, const std::function<std::string(std::uint64_t)>& make,
                  const std::function<bool(std::string_view)>& take);

}  // namespace paragrad::speech
