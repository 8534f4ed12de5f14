#include "predict/row_reader.hpp"

#include <algorithm>

namespace paragrad::predict {
namespace {

/// The number of floats of an array whose length is given in bytes.
std::size_t floats_of(const Place& place, double bytes) {
  constexpr double most = 1e15;
  const auto floats = static_cast<std::size_t>(std::clamp(bytes, 0., most) / sizeof(float));
  if (bytes > most || static_cast<double>(floats) * sizeof(float) != bytes || floats == 0)
    place.refuse(core::format("{} bytes are not a whole number of float32 values (4 bytes each)", bytes));
  return floats;
}

}  // namespace

std::string where_of(const std::string& file, std::size_t line) {
  return core::format("{}:{}", file.substr(file.find_last_of('/') + 1), line);
}

MeasuredRow collective_row(const Place& place, const std::string& operation, const std::string& algorithm, int workers,
                           double bytes) {
  MeasuredRow row;
  if (workers < 2) place.refuse("a collective operation of one worker takes no time: give two or more");
  row.workers = workers;
  row.floats = floats_of(place, bytes);
  row.collective.operation = operation;
  row.collective.collective = algorithm;
  row.collective.device = "meta";
  row.collective.repeat = 1;
  place.guarded<void>([&] { comm::check_algorithm(comm::parse_operation(operation), algorithm); });
  row.what = core::format("{} of {} on {}", operation, core::format_quantity(bytes, core::Unit::bytes), workers);
  return row;
}

}  // namespace paragrad::predict
