#include "sim/compute/kernel_table.hpp"

#include <algorithm>

#include "core/format.hpp"

namespace paragrad::sim {
namespace {

/// The position of a size on an axis: between points `below` and `above`, at fraction `share`; and the multiple of the last
/// point.
struct AxisPosition {
  std::size_t below = 0, above = 0;
  double share = 0;
  double beyond = 1;
};

AxisPosition find(const std::vector<double>& axis, double size) {
  const auto next = static_cast<std::size_t>(std::upper_bound(axis.begin(), axis.end(), size) - axis.begin());
  if (next == 0) return {};
  const std::size_t last = axis.size() - 1;
  if (next > last) return {last, last, 0, size / axis[last]};
  return {next - 1, next, (size - axis[next - 1]) / (axis[next] - axis[next - 1]), 1};
}

}  // namespace

double KernelTable::seconds(const backend::CallSize& size) const {
  std::array<AxisPosition, 3> at;
  double beyond = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    at[axis] = find(sizes[axis], static_cast<double>(size[axis]));
    beyond *= at[axis].beyond;
  }
  const auto time = [&](std::size_t i, std::size_t j, std::size_t k) {
    return time_s[(i * sizes[1].size() + j) * sizes[2].size() + k];
  };
  // Written so that rounding keeps it monotone: a + share * (b - a) with b >= a.
  const auto between = [](double a, double b, double share) { return a + share * (b - a); };
  const auto along_last = [&](std::size_t i, std::size_t j) {
    return between(time(i, j, at[2].below), time(i, j, at[2].above), at[2].share);
  };
  const auto along_two = [&](std::size_t i) {
    return between(along_last(i, at[1].below), along_last(i, at[1].above), at[1].share);
  };
  return beyond * between(along_two(at[0].below), along_two(at[0].above), at[0].share);
}

std::string KernelTable::mistake() const {
  for (const auto& axis : sizes)
    if (axis.empty() || axis.front() < 1 || !std::ranges::is_sorted(axis, std::less_equal<>()))
      return "the sizes along an axis must rise, from 1 or more";
  const std::size_t points = sizes[0].size() * sizes[1].size() * sizes[2].size();
  if (time_s.size() != points) return core::format("{} times for {} points", time_s.size(), points);
  const std::array<std::size_t, 3> strides{sizes[1].size() * sizes[2].size(), sizes[2].size(), 1};
  for (std::size_t i = 0; i < points; ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (i / strides[axis] % sizes[axis].size() > 0 && time_s[i] < time_s[i - strides[axis]])
        return core::format("time {} is shorter than that of a smaller size, time {}", i + 1, i - strides[axis] + 1);
  return "";
}

}  // namespace paragrad::sim
