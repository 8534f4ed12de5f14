#include "sim/failures/outages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace paragrad::sim {
namespace {

constexpr double not_ever_s = std::numeric_limits<double>::infinity();

}  // namespace

Outages::Outages(const Platform::Failures& failures, int nodes, int devices_per_node, int part,
                 std::vector<double> scripted_s)
    : failures_(failures),
      rate_per_node_(devices_per_node / failures.mtbf_s),
      random_(failures.seed, core::Purpose::failures, static_cast<std::uint32_t>(part)),
      working_(nodes),
      scripted_s_(std::move(scripted_s)),
      last_rejoin_s_(-not_ever_s) {
  std::ranges::sort(scripted_s_, std::greater<>());
}

double Outages::next_failure_s(double now_s) {
  const double scripted_s = scripted_s_.empty() ? not_ever_s : std::max(now_s, scripted_s_.back());
  const double rate = rate_per_node_ * working_;
  if (rate == 0) return working_ > 0 ? scripted_s : not_ever_s;
  return std::min(scripted_s, now_s - std::log1p(-random_.uniform(draws_++)) / rate);
}

double Outages::next_rejoin_s(double now_s) const {
  if (repaired_s_.empty()) return not_ever_s;
  return std::max({repaired_s_.top(), last_rejoin_s_ + failures_.rejoin_every_s, now_s});
}

void Outages::lose_node(double now_s) {
  ++lost_;
  --working_;
  repaired_s_.push(now_s + failures_.repair_s);
  if (!scripted_s_.empty() && scripted_s_.back() <= now_s) scripted_s_.pop_back();
}

void Outages::rejoin(double now_s) {
  last_rejoin_s_ = now_s;
  take_back(now_s);
}

void Outages::take_back(double now_s) {
  for (; !repaired_s_.empty() && repaired_s_.top() <= now_s; repaired_s_.pop()) ++working_;
}

double Outages::stop(double now_s, double duration_s, const std::function<void(double)>& passed) {
  const double end_s = now_s + duration_s;
  for (double failure_s = next_failure_s(now_s); failure_s < end_s; failure_s = next_failure_s(failure_s)) {
    if (passed) passed(failure_s);
    lose_node(failure_s);
  }
  if (passed) passed(end_s);
  take_back(end_s);
  return end_s;
}

}  // namespace paragrad::sim
