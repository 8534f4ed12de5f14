#include "data/split.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

/// Frames [begin, end) around the frames [first, last] of a sequence; frames before `first` repeat it, frames after `last`
/// repeat that.
struct Run {
  std::int64_t first, last;
  std::int64_t begin, end;
};

/// Positions in `rows`, sorted by row, so that overlapping windows and pages of the file are adjacent.
std::vector<std::uint32_t> by_row(const std::vector<std::uint32_t>& rows) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  if (!std::is_sorted(rows.begin(), rows.end()))
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rows[a] < rows[b]; });
  return order;
}

/// The runs that contain all windows, and the position of each window in them.
std::vector<Run> plan_runs(const std::vector<std::uint32_t>& rows, std::span<const std::int64_t> offsets, Context context,
                           std::vector<std::uint32_t>& windows) {
  const auto left = static_cast<std::int64_t>(context.left), right = static_cast<std::int64_t>(context.right);
  std::vector<Run> runs;
  std::int64_t before = 0;  // frames of the runs before the last
  std::size_t sequence = 0;
  for (const auto i : by_row(rows)) {
    const std::int64_t row = rows[i];
    if (row >= offsets.back()) throw std::out_of_range("Split::read: no such sample");
    if (row >= offsets[sequence + 1])
      sequence = static_cast<std::size_t>(std::upper_bound(offsets.begin(), offsets.end(), row) - offsets.begin()) - 1;
    if (runs.empty() || runs.back().first != offsets[sequence] || row - left > runs.back().end) {
      if (!runs.empty()) before += runs.back().end - runs.back().begin;
      runs.push_back({offsets[sequence], offsets[sequence + 1] - 1, row - left, row - left});
    }
    auto& run = runs.back();
    run.end = std::max(run.end, row + right + 1);
    windows[i] = static_cast<std::uint32_t>(before + row - left - run.begin);
  }
  return runs;
}

/// Writes the frames of a run to `out`; returns the end of the written bytes.
std::byte* copy_run(const Dataset& dataset, Subset subset, const Run& run, std::byte* out) {
  const auto copy = [&](std::int64_t first, std::int64_t count) {
    const auto bytes = dataset.rows(subset, static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    out = std::copy(bytes.begin(), bytes.end(), out);
  };
  for (std::int64_t t = run.begin; t < std::min(run.end, run.first); ++t) copy(run.first, 1);
  const std::int64_t begin = std::max(run.begin, run.first), end = std::min(run.end, run.last + 1);
  copy(begin, end - begin);
  for (std::int64_t t = std::max(run.begin, run.last + 1); t < run.end; ++t) copy(run.last, 1);
  return out;
}

}  // namespace

void Split::clear() {
  stored.clear();
  labels.clear();
  rows.clear();
  windows.clear();
}

void Split::read(const Dataset& dataset, Subset subset, std::vector<std::uint32_t> wanted) {
  rows = std::move(wanted);
  labels.resize(rows.size());
  windows.resize(rows.size());
  if (dataset.info().context == Context{})
    read_rows(dataset, subset);
  else
    read_windows(dataset, subset);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    labels[i] = dataset.label(subset, rows[i]);
    // A label outside the classes would make kernels, which do not check, access memory out of bounds.
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= dataset.info().classes)
      throw core::ConfigError(core::format("data file '{}': label {} in row {} of {} is out of range for {} classes",
                                           dataset.info().path, labels[i], rows[i],
                                           subset_names[static_cast<std::size_t>(subset)], dataset.info().classes));
  }
}

void Split::read_rows(const Dataset& dataset, Subset subset) {
  const std::size_t bytes = dataset.info().bytes_per_row();
  stored.resize(rows.size() * bytes);
  std::iota(windows.begin(), windows.end(), 0u);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(stored.data() + i * bytes, dataset.row(subset, rows[i]).data(), bytes);
}

void Split::read_windows(const Dataset& dataset, Subset subset) {
  if (rows.empty()) return stored.clear();
  if (dataset.offsets(subset).empty()) throw std::out_of_range("Split::read: no such sample");
  const auto runs = plan_runs(rows, dataset.offsets(subset), dataset.info().context, windows);
  std::size_t frames = 0;
  for (const auto& run : runs) frames += static_cast<std::size_t>(run.end - run.begin);
  stored.resize(frames * dataset.info().bytes_per_row());
  std::byte* out = stored.data();
  for (const auto& run : runs) out = copy_run(dataset, subset, run, out);
}

}  // namespace paragrad::data
