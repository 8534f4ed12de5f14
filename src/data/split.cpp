#include "data/split.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/range.hpp"

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

/// Has rows read from the disk that are about to be copied, in rising order: many pieces at once, no others, and no more
/// than some megabytes before they are needed. Without it every access to a row that is not in memory waits for the disk,
/// and the system reads the neighbourhood of each, which may be most of the file.
class Announcement {
 public:
  /// rows: some of those that will be added. If they are in memory, nothing will be announced.
  Announcement(const Dataset& dataset, Subset subset, std::span<const std::uint32_t> rows)
      : dataset_(dataset), subset_(subset), needed_(!in_memory(rows)) {}

  bool needed() const { return needed_; }

  void add(std::size_t first, std::size_t end) {
    if (!runs_.empty() && first <= runs_.back().end + gap_bytes / bytes_)
      runs_.back().end = std::max(end, runs_.back().end);
    else
      runs_.push_back({first, end});
  }

  void before_copying(std::size_t row) {
    while (next_ < runs_.size() && runs_[next_].begin <= row + ahead_bytes / bytes_) {
      core::Range& run = runs_[next_];
      const std::size_t count = std::min(run.size(), piece());
      dataset_.read_soon(subset_, run.begin, count);
      run.begin += count;
      if (run.empty()) ++next_;
    }
  }

  /// How many rows to copy between two calls of before_copying, at most.
  std::size_t piece() const { return std::max<std::size_t>(piece_bytes / bytes_, 1); }

 private:
  static constexpr std::size_t piece_bytes = 128 << 10;  // see system::FileMap::read_soon
  static constexpr std::size_t gap_bytes = 16 << 10;     // cheaper to read than to ask twice
  static constexpr std::size_t ahead_bytes = 64 << 20;

  bool in_memory(std::span<const std::uint32_t> rows) const {
    constexpr std::size_t looks = 16;
    for (std::size_t i = 0; i < std::min(looks, rows.size()); ++i)
      if (!dataset_.in_memory(subset_, rows[i * rows.size() / std::min(looks, rows.size())])) return false;
    return true;
  }

  const Dataset& dataset_;
  Subset subset_;
  std::size_t bytes_ = dataset_.info().bytes_per_row();
  bool needed_;
  std::vector<core::Range> runs_;
  std::size_t next_ = 0;
};

/// Writes the frames of a run to `out`; returns the end of the written bytes.
std::byte* copy_run(const Dataset& dataset, Subset subset, const Run& run, Announcement& announcement, std::byte* out) {
  const auto copy = [&](std::int64_t first, std::int64_t count) {
    const auto end = static_cast<std::size_t>(first + count);
    for (auto row = static_cast<std::size_t>(first); row < end; row += announcement.piece()) {
      announcement.before_copying(row);
      const auto bytes = dataset.rows(subset, row, std::min(announcement.piece(), end - row));
      out = std::copy(bytes.begin(), bytes.end(), out);
    }
  };
  for (std::int64_t t = run.begin; t < std::min(run.end, run.first); ++t) copy(run.first, 1);
  const std::int64_t begin = std::max(run.begin, run.first), end = std::min(run.end, run.last + 1);
  copy(begin, end - begin);
  for (std::int64_t t = std::max(run.begin, run.last + 1); t < run.end; ++t) copy(run.last, 1);
  return out;
}

/// Of numbers of float32. The exponent of NaN and infinity is all ones; whole numbers are compared so that the compiler
/// makes vectors of them.
bool all_finite(std::span<const std::byte> stored) {
  constexpr std::uint32_t exponent = 0x7f800000;
  std::array<std::uint32_t, 256> numbers;
  for (std::size_t begin = 0; begin < stored.size(); begin += sizeof numbers) {
    const std::size_t bytes = std::min(sizeof numbers, stored.size() - begin), count = bytes / sizeof(float);
    std::memcpy(numbers.data(), stored.data() + begin, bytes);
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < count; ++i) bad |= static_cast<std::uint32_t>((numbers[i] & exponent) == exponent);
    if (bad != 0) return false;
  }
  return true;
}

}  // namespace

void Split::clear() {
  stored.clear();
  labels.clear();
  for_columns([](const auto&, auto& values) { values.clear(); }, columns);
  rows.clear();
  windows.clear();
}

void Split::read(const Dataset& dataset, Subset subset, std::vector<std::uint32_t> wanted) {
  rows = std::move(wanted);
  windows.resize(rows.size());
  if (dataset.info().context == Context{})
    read_rows(dataset, subset);
  else
    read_windows(dataset, subset);
  check_features(dataset, subset);
  read_labels(dataset, subset);
  read_columns(dataset, subset);
}

void Split::check_features(const Dataset& dataset, Subset subset) const {
  const DatasetInfo& info = dataset.info();
  if (info.vocabulary) return check_tokens(info, subset);
  if (info.encoding.type == core::NumberType::uint8 || all_finite(stored)) return;
  const std::size_t before = info.context.left, after = info.context.right;
  for (const std::uint32_t wanted : rows) {
    const std::size_t first = wanted - std::min<std::size_t>(wanted, before);
    const std::size_t end = std::min(wanted + after + 1, info.samples[static_cast<std::size_t>(subset)]);
    for (std::size_t row = first; row < end; ++row) {
      std::vector<float> features(info.frame_dim());
      std::memcpy(features.data(), dataset.row(subset, row).data(), info.bytes_per_row());
      const auto bad = std::ranges::find_if(features, [](float x) { return !std::isfinite(x); });
      if (bad == features.end()) continue;
      throw core::ConfigError(core::format("data file '{}': feature {} in row {} of {} is {}, which is not a finite number",
                                           info.path, bad - features.begin(), row,
                                           subset_names[static_cast<std::size_t>(subset)],
                                           std::isnan(*bad) ? "nan"
                                           : *bad > 0       ? "inf"
                                                            : "-inf"));
    }
  }
}

// As with labels, kernels do not check.
void Split::check_tokens(const DatasetInfo& info, Subset subset) const {
  const std::size_t bytes = info.bytes_per_row();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t token = core::token_at(info.encoding.type, stored.data() + i * bytes);
    if (token < 0 || static_cast<std::size_t>(token) >= info.classes)
      throw core::ConfigError(core::format("data file '{}': token {} in row {} of {} is out of range for a vocabulary of {}",
                                           info.path, token, rows[i], subset_names[static_cast<std::size_t>(subset)],
                                           info.classes));
  }
}

void Split::read_labels(const Dataset& dataset, Subset subset) {
  labels.assign(rows.size(), 0);
  const std::size_t classes = dataset.info().classes;
  for (std::size_t i = 0; i < rows.size() && dataset.info().has_labels(); ++i) {
    labels[i] = dataset.label(subset, rows[i]);
    // A label outside the classes would make kernels, which do not check, access memory out of bounds.
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      throw core::ConfigError(core::format("data file '{}': label {} in row {} of {} is out of range for {} classes",
                                           dataset.info().path, labels[i], rows[i],
                                           subset_names[static_cast<std::size_t>(subset)], classes));
  }
}

void Split::read_columns(const Dataset& dataset, Subset subset) {
  const ColumnViews all = dataset.columns(subset);
  const auto read = [&]<class T>(const ColumnInfo<T>& column, std::vector<T>& mine, std::span<const T> of_all,
                                 std::size_t width) {
    mine.resize(rows.size() * width);
    for (std::size_t i = 0; i < rows.size() && width > 0; ++i)
      std::ranges::copy(of_all.subspan(rows[i] * width, width), mine.begin() + static_cast<std::ptrdiff_t>(i * width));
    check_column(
        column, std::span<const T>(mine), width, [&](std::size_t i) { return rows[i]; },
        core::format("data file '{}': ", dataset.info().path), subset_names[static_cast<std::size_t>(subset)]);
  };
  for_read_columns(read, columns, all, dataset.info().widths);
}

void Split::read_rows(const Dataset& dataset, Subset subset) {
  const std::size_t bytes = dataset.info().bytes_per_row();
  stored.resize(rows.size() * bytes);
  std::iota(windows.begin(), windows.end(), 0u);
  const auto copy = [&](std::size_t i) {
    std::memcpy(stored.data() + i * bytes, dataset.row(subset, rows[i]).data(), bytes);
  };
  Announcement announcement(dataset, subset, rows);
  if (!announcement.needed()) {
    for (std::size_t i = 0; i < rows.size(); ++i) copy(i);
    return;
  }
  const auto order = by_row(rows);
  for (const auto i : order) announcement.add(rows[i], rows[i] + std::size_t{1});
  for (const auto i : order) {
    announcement.before_copying(rows[i]);
    copy(i);
  }
}

void Split::read_windows(const Dataset& dataset, Subset subset) {
  if (rows.empty()) return stored.clear();
  if (dataset.offsets(subset).empty()) throw std::out_of_range("Split::read: no such sample");
  const auto runs = plan_runs(rows, dataset.offsets(subset), dataset.info().context, windows);
  std::size_t frames = 0;
  for (const auto& run : runs) frames += static_cast<std::size_t>(run.end - run.begin);
  stored.resize(frames * dataset.info().bytes_per_row());
  Announcement announcement(dataset, subset, rows);
  if (announcement.needed())
    for (const auto& run : runs)
      announcement.add(static_cast<std::size_t>(std::max(run.begin, run.first)),
                       static_cast<std::size_t>(std::min(run.end, run.last + 1)));
  std::byte* out = stored.data();
  for (const auto& run : runs) out = copy_run(dataset, subset, run, announcement, out);
}

}  // namespace paragrad::data
