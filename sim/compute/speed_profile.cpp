#include "sim/compute/speed_profile.hpp"

#include <algorithm>

namespace paragrad::sim {

std::size_t SpeedProfile::piece_at(Time at) const {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), at, [](Time time, const Piece& piece) { return time < piece.from; });
  return static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

void SpeedProfile::cut(Time at) {
  const std::size_t piece = piece_at(at);
  if (pieces_[piece].from == at) return;
  pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(piece) + 1, {at, pieces_[piece].factor});
}

void SpeedProfile::slow(Time from, Time until, double factor) {
  cut(from);
  if (until < never) cut(until);
  for (Piece& piece : pieces_)
    if (piece.from >= from && piece.from < until) piece.factor *= factor;
}

Time SpeedProfile::moving_from(Time at) const {
  for (std::size_t i = piece_at(at); i < pieces_.size(); ++i)
    if (pieces_[i].factor > 0) return std::max(at, pieces_[i].from);
  return never;
}

Time SpeedProfile::end(Time start, Time duration) const {
  Time now = start, left = duration;
  for (std::size_t i = piece_at(start); i < pieces_.size(); ++i) {
    const double factor = pieces_[i].factor;
    const Time until = i + 1 < pieces_.size() ? pieces_[i + 1].from : never;
    // Whole picoseconds, rounded up: exact at full speed.
    const Time needed = factor == 1  ? left
                        : factor > 0 ? from_picoseconds(std::ceil(static_cast<double>(left) / factor))
                        : left == 0  ? 0
                                     : never;
    if (needed < never && needed <= until - now) return now + needed;
    if (until == never && factor > 0) refuse_end_of_clock();
    left -= static_cast<Time>(std::floor(static_cast<double>(until - now) * factor));
    now = until;
  }
  return never;
}

}  // namespace paragrad::sim
