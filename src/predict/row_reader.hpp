#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "predict/measured_rows.hpp"

namespace paragrad::predict {

// What the readers of tables and of nccl-tests share.

inline constexpr std::size_t most_rows = 1000;  // each of which takes seconds

/// The rows so far; several measurements of the same are one.
class Rows {
 public:
  MeasuredRow* find(const std::string& key) {
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : &rows_[found->second];
  }
  MeasuredRow& add(const std::string& key, MeasuredRow row) {
    if (rows_.size() == most_rows)
      throw core::ConfigError(
          core::format("{}: these are more than {} different measurements, too many for a fit", row.where, most_rows));
    places_[key] = rows_.size();
    rows_.push_back(std::move(row));
    return rows_.back();
  }
  std::vector<MeasuredRow> take() {
    for (MeasuredRow& row : rows_) std::ranges::sort(row.times_s);
    return std::move(rows_);
  }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<MeasuredRow> rows_;
};

/// Refuses with the place of what is wrong.
class Place {
 public:
  Place(const std::string& file, std::size_t line) : text_(core::format("'{}', line {}", core::printable(file), line)) {}

  [[noreturn]] void refuse(const std::string& why) const { throw core::ConfigError(core::format("{}: {}", text_, why)); }

  double positive(std::string_view name, const std::string& text) const {
    constexpr double least = 1e-12, most = 1e15;
    const auto number = core::number_of<double>(text);
    if (!number || !(*number > 0))
      refuse(core::format("{} is '{}', which is no number above 0", name, core::printable(text)));
    if (*number < least || *number > most)
      refuse(core::format("{} is {}, which is outside {} … {}", name, core::printable(text), least, most));
    return *number;
  }
  int count(std::string_view name, const std::string& text) const {
    constexpr int most = 1'000'000;
    const auto number = core::number_of<int>(text);
    if (!number || *number < 1 || *number > most)
      refuse(core::format("{} is '{}', which is no whole number from 1 to {}", name, core::printable(text), most));
    return *number;
  }
  double time(const std::string& text) const {
    const double seconds = guarded<double>([&] { return core::parse_quantity(text, core::Unit::time); });
    if (!(seconds > 0)) refuse(core::format("a time of '{}' is not above 0", core::printable(text)));
    return seconds;
  }

  /// What the function returns; its ConfigError gets the place.
  template <class T>
  T guarded(const std::function<T()>& function) const {
    try {
      return function();
    } catch (const core::ConfigError& error) {
      refuse(error.what());
    }
  }

 private:
  std::string text_;
};

/// "runs.csv:3"
std::string where_of(const std::string& file, std::size_t line);

/// An operation that is still to get its times. Refuses what the algorithm does not serve.
MeasuredRow collective_row(const Place& place, const std::string& operation, const std::string& algorithm, int workers,
                           double bytes);

/// Adds what nccl-tests has printed. operation: which it measured, or "": as the text says.
void read_nccl_tests(const std::string& path, const std::string& text, std::string operation, Rows& rows);

}  // namespace paragrad::predict
