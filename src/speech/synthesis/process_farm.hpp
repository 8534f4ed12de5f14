#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace paragrad::speech {

/// What processes made, in order: `make(0)`, `make(1)`, … are called in `jobs` child processes, the k-th for k, k + jobs, …;
/// `take` gets the results here, one after the other, until it says enough (false), and the children end. So `make` may use
/// what is neither safe with threads nor without memory of its own, as long as its results depend on its argument alone.
///
/// Each child is a copy of this process, which must have one thread only. Children work ahead of what is taken by what a
/// pipe holds. A ConfigError in `make` is thrown here; ConfigError for a child that dies; what `take` throws passes through.
void in_processes(std::size_t jobs, const std::function<std::string(std::uint64_t)>& make,
                  const std::function<bool(std::string_view)>& take);

}  // namespace paragrad::speech
