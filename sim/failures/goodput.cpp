#include "sim/failures/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "sim/failures/outages.hpp"

namespace paragrad::sim {
namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();
constexpr int batches = 20;  // parts of the time, for the standard error

/// The time of a group's devices, in node-seconds.
struct Account {
  double useful = 0, lost = 0, saving = 0, stopped = 0, absent = 0;

  double total() const { return useful + lost + saving + stopped + absent; }
  Account& operator+=(const Account& other) {
    useful += other.useful;
    lost += other.lost;
    saving += other.saving;
    stopped += other.stopped;
    absent += other.absent;
    return *this;
  }
};

/// One group of nodes.
class Group {
 public:
  Group(const Platform::Failures& failures, double interval_s, int number, int nodes, int devices_per_node)
      : failures_(failures), interval_s_(interval_s), nodes_(nodes), outages_(failures, nodes, devices_per_node, number) {}

  /// Until the group has met that many failures more.
  Account run(std::uint64_t failures) {
    account_ = {};
    for (const std::uint64_t last = outages_.lost() + failures; outages_.lost() < last;) {
      if (outages_.working() == 0) {  // nothing works, nothing can fail
        stop(outages_.next_rejoin_s(now_s_) - now_s_);
        continue;
      }
      const double failure_s = outages_.next_failure_s(now_s_);
      const double rejoin_s = when_saved(outages_.next_rejoin_s(now_s_));
      work(std::min(failure_s, rejoin_s) - now_s_);
      if (failure_s < rejoin_s) {
        outages_.lose_node(now_s_);
        account_.lost += at_risk_;
        at_risk_ = in_interval_s_ = 0;
        stop(failures_.restart_s);
      } else {
        outages_.rejoin(now_s_);
        stop(failures_.rejoin_s);
      }
    }
    return account_;
  }

 private:
  /// The end of the first saving from then on; without saving, then.
  double when_saved(double at_s) const {
    if (interval_s_ == never_s || at_s == never_s) return at_s;
    const double cycle_s = interval_s_ + failures_.save_s;
    const double next_s = now_s_ + cycle_s - in_interval_s_;
    return next_s + std::max(0., std::ceil((at_s - next_s) / cycle_s)) * cycle_s;
  }

  /// Work, and every `interval_s_` of it a saved state.
  void work(double duration_s) {
    const double working = outages_.working();
    now_s_ += duration_s;
    account_.absent += duration_s * (nodes_ - working);
    if (interval_s_ == never_s) {
      account_.useful += duration_s * working;
      return;
    }
    const double cycle_s = interval_s_ + failures_.save_s;
    const double to_saved_s = cycle_s - in_interval_s_;
    const auto spend = [&](double to_s) {  // up to that point of the cycle
      const double work_s = std::min(to_s, interval_s_) - std::min(in_interval_s_, interval_s_);
      at_risk_ += work_s * working;
      account_.saving += (to_s - in_interval_s_ - work_s) * working;
      in_interval_s_ = to_s;
    };
    if (duration_s < to_saved_s) return spend(in_interval_s_ + duration_s);
    spend(cycle_s);
    const double cycles = std::floor((duration_s - to_saved_s) / cycle_s);
    account_.useful += at_risk_ + cycles * interval_s_ * working;
    account_.saving += cycles * failures_.save_s * working;
    at_risk_ = in_interval_s_ = 0;
    spend(std::max(0., duration_s - to_saved_s - cycles * cycle_s));
  }

  void stop(double duration_s) {
    outages_.stop(now_s_, duration_s, [&](double until_s) {
      account_.stopped += (until_s - now_s_) * outages_.working();
      account_.absent += (until_s - now_s_) * (nodes_ - outages_.working());
      now_s_ = until_s;
    });
  }

  const Platform::Failures& failures_;
  double interval_s_;
  int nodes_;
  Outages outages_;
  double now_s_ = 0;
  double at_risk_ = 0;        // node-seconds of work since the last saved state
  double in_interval_s_ = 0;  // since then, the time of saving included
  Account account_;
};

double failure_rate(const Platform::Failures& failures, double nodes, int devices_per_node) {
  return nodes * devices_per_node / failures.mtbf_s;
}

/// Work between two saved states; or never, if nothing is lost.
double interval_s(const Platform::Failures& failures, double nodes, int devices_per_node) {
  if (!failures.loses_work) return never_s;
  if (failures.save_every_s > 0) return failures.save_every_s;
  return interval_between_states_s(failures.save_s, 1 / failure_rate(failures, nodes, devices_per_node));
}

void check(int nodes, int groups) {
  if (nodes < groups)
    throw core::ConfigError(core::format("{} groups need as many nodes: the platform has {}", groups, nodes));
}

}  // namespace

Goodput simulate_goodput(const Platform::Failures& failures, int nodes, int devices_per_node, int groups,
                         std::uint64_t failures_to_simulate) {
  check(nodes, groups);
  const double nodes_of_group = static_cast<double>(nodes) / groups;
  const double interval = interval_s(failures, nodes_of_group, devices_per_node);
  const std::uint64_t share = failures_to_simulate / static_cast<std::uint64_t>(groups * batches) + 1;
  std::vector<Account> parts(batches);
  for (int number = 0; number < groups; ++number) {
    const auto boundary = [&](int i) { return static_cast<int>(std::int64_t{nodes} * i / groups); };
    Group group(failures, interval, number, boundary(number + 1) - boundary(number), devices_per_node);
    for (Account& part : parts) {
      Account spent = group.run(share);
      const double weight = (boundary(number + 1) - boundary(number)) / spent.total();  // groups last equally long
      for (double* value : {&spent.useful, &spent.lost, &spent.saving, &spent.stopped, &spent.absent}) *value *= weight;
      part += spent;
    }
  }
  Account all;
  for (const Account& part : parts) all += part;
  double squares = 0;
  const double useful = all.useful / all.total();
  for (const Account& part : parts) squares += std::pow(part.useful / part.total() - useful, 2);
  return {.useful = useful,
          .lost = all.lost / all.total(),
          .saving = all.saving / all.total(),
          .stopped = all.stopped / all.total(),
          .absent = all.absent / all.total(),
          .save_every_s = failures.loses_work ? std::optional(interval) : std::nullopt,
          .standard_error = std::sqrt(squares / (batches * (batches - 1))),
          .failures = share * static_cast<std::uint64_t>(groups * batches),
          .time_between_failures_s = 1 / failure_rate(failures, nodes, devices_per_node)};
}

double first_order_goodput(const Platform::Failures& failures, int nodes, int devices_per_node, int groups) {
  check(nodes, groups);
  const double nodes_of_group = static_cast<double>(nodes) / groups;
  const double rate = failure_rate(failures, nodes_of_group, devices_per_node);
  const double interval = interval_s(failures, nodes_of_group, devices_per_node);
  const double working = interval == never_s ? 1 : interval / (interval + failures.save_s);
  const double lost = interval == never_s ? 0 : std::min(1., rate * (interval + failures.save_s) / 2);
  return working * (1 - lost) / (1 + rate * (failures.restart_s + failures.rejoin_s));
}

double interval_between_states_s(double save_s, double mtbf_s) {
  if (save_s >= 2 * mtbf_s) return mtbf_s;
  const double ratio = save_s / (2 * mtbf_s);
  return std::sqrt(2 * save_s * mtbf_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - save_s;
}

}  // namespace paragrad::sim
