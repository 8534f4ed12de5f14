#include "worlds/sync_stats.hpp"

#include <algorithm>

#include "comm/allreduce.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::worlds {
namespace {

using metrics::PeriodTimes;

/// "compute 81.2 % (80.0 to 83.1)"
std::string shares(const char* name, const std::vector<PeriodTimes>& all, double PeriodTimes::*part) {
  double sum = 0, least = 1, most = 0;
  for (const PeriodTimes& times : all) {
    const double share = times.total_s() > 0 ? times.*part / times.total_s() : 0;
    sum += share;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  return core::format("{} {:.1f} % ({:.1f} to {:.1f})", name, 100 * sum / static_cast<double>(all.size()), 100 * least,
                      100 * most);
}

std::string line(std::size_t synchronisation, const std::vector<PeriodTimes>& all) {
  double longest_s = 0;
  for (const PeriodTimes& times : all) longest_s = std::max(longest_s, times.total_s());
  return core::format("synchronisation {}: {}, {}, {} of {}", synchronisation,
                      shares("compute", all, &PeriodTimes::compute_s), shares("wait", all, &PeriodTimes::wait_s),
                      shares("communicate", all, &PeriodTimes::communicate_s),
                      core::format_quantity(longest_s, core::Unit::time));
}

}  // namespace

void SyncStats::post(std::size_t synchronisation, const PeriodTimes& times) {
  auto& posted = board_[synchronisation];
  posted.push_back(times);
  if (posted.size() < workers_) return;
  say_(line(synchronisation, posted));
  board_.erase(synchronisation);
}

void SyncStats::gather(comm::Communicator& comm, std::size_t synchronisation, const PeriodTimes& times) {
  std::vector<double> all(4 * workers_);  // each worker fills its own part
  const std::size_t mine = 4 * static_cast<std::size_t>(comm.rank());
  all[mine] = times.compute_s;
  all[mine + 1] = times.wait_s;
  all[mine + 2] = times.communicate_s;
  all[mine + 3] = times.other_s;
  comm::sum_in_rank_order(comm, all);
  if (comm.rank() != 0) return;
  std::vector<PeriodTimes> of_workers;
  for (std::size_t i = 0; i < all.size(); i += 4) of_workers.push_back({all[i], all[i + 1], all[i + 2], all[i + 3]});
  say_(line(synchronisation, of_workers));
}

}  // namespace paragrad::worlds
