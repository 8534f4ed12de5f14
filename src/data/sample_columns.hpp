#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/range.hpp"

/// The columns of data/sample_columns.def: named, typed values of samples.
namespace paragrad::data {

enum class ColumnRole {
  answer,  ///< it stands in place of the label
  extra,
  divides  ///< it says how samples are divided among workers
};

template <class T>
struct ColumnInfo {
  std::string_view name;
  ColumnRole role;
  std::size_t rank;  ///< 1: one value for each sample
  bool (*is_valid)(T);
  std::string_view one, what;  ///< "target", "a finite number"
};

inline bool is_finite(float value) { return std::isfinite(value); }
inline bool is_weight(float value) { return std::isfinite(value) && value >= 0; }
inline bool is_client(std::int32_t value) { return value >= 0; }

/// Something of each column: `columns.targets`.
template <template <class> class Of>
struct PerColumn {
#define COLUMN(name, Type, role, rank, is_valid, one, what) Of<Type> name{};
#include "data/sample_columns.def"
#undef COLUMN
};

/// Calls with(info, a.name, b.name, …) for each column, where a, b, … have something of each.
template <class With, class... Sets>
void for_columns(const With& with, Sets&... sets) {
#define COLUMN(name, Type, role, rank, is_valid, one, what) \
  with(ColumnInfo<Type>{#name, ColumnRole::role, rank, is_valid, one, what}, sets.name...);
#include "data/sample_columns.def"
#undef COLUMN
}

/// The same for columns that stand next to the label.
template <class With, class... Sets>
void for_extra_columns(const With& with, Sets&... sets) {
  const auto filter = [&](const auto& column, auto&... of_column) {
    if (column.role != ColumnRole::answer) with(column, of_column...);
  };
  for_columns(filter, sets...);
}

/// The same for columns that training reads.
template <class With, class... Sets>
void for_read_columns(const With& with, Sets&... sets) {
  const auto filter = [&](const auto& column, auto&... of_column) {
    if (column.role != ColumnRole::divides) with(column, of_column...);
  };
  for_columns(filter, sets...);
}

namespace columns {
template <class T>
using View = std::span<const T>;
template <class T>
using Values = std::vector<T>;
template <class>
using Width = std::size_t;
}  // namespace columns

using ColumnViews = PerColumn<columns::View>;     ///< of some rows, [rows][width]; empty: the data have no such column
using ColumnValues = PerColumn<columns::Values>;  ///< likewise
using ColumnWidths = PerColumn<columns::Width>;   ///< values for each sample; 0: the data have no such column

inline ColumnViews views_of(const ColumnValues& values) {
  ColumnViews views;
  for_columns([](const auto&, const auto& all, auto& view) { view = all; }, values, views);
  return views;
}

inline ColumnViews rows_of(const ColumnViews& all, const ColumnWidths& widths, core::Range rows) {
  ColumnViews some;
  const auto take = [&](const auto&, const auto& values, auto& mine, std::size_t width) {
    if (!values.empty()) mine = values.subspan(rows.begin * width, rows.size() * width);
  };
  for_columns(take, all, some, widths);
  return some;
}

/// Throws ConfigError for a value that is not valid. row_of(i): the row of values [i·width, (i+1)·width). before: how the
/// message begins. set: the name of the rows' set.
template <class T, class RowOf>
void check_column(const ColumnInfo<T>& column, std::span<const T> values, std::size_t width, const RowOf& row_of,
                  const std::string& before, std::string_view set) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!column.is_valid(values[i]))
      throw core::ConfigError(
          core::format("{}{} in row {} of {} is {}, which is not {}", before,
                       column.rank == 1 ? core::format("the {}", column.one) : core::format("{} {}", column.one, i % width),
                       row_of(i / width), set, values[i], column.what));
}

}  // namespace paragrad::data
