#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paragrad::core {

/// The dimension of a quantity, with its units.
///   time       ps ns us ms s min h d             in seconds
///   bytes      B kB MB GB TB (powers of 1000)    in bytes
///   bandwidth  Bps kBps MBps GBps, bps … Gbps    in bytes per second
///   rate       FLOPs kFLOPs … TFLOPs PFLOPs      in floating-point operations per second
enum class Unit { time, bytes, bandwidth, rate };

/// "22.5min" -> 1350. Throws ConfigError for a missing or unknown unit and for a value that is not finite.
double parse_quantity(std::string_view text, Unit unit);

/// The name of its factor 1: "s", "B", "Bps", "FLOPs".
std::string_view base_unit(Unit unit);

/// 1350 -> "22.5min": the largest unit that gives a number of at least 1, four significant digits.
std::string format_quantity(double value, Unit unit);

}  // namespace paragrad::core
