#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/clock_alignment.hpp"
#include "comm/worker.hpp"
#include "core/options.hpp"
#include "metrics/run_folder.hpp"
#include "metrics/timeline.hpp"
#include "sim/simulation.hpp"
#include "worlds/sync_stats.hpp"

namespace paragrad::worlds {

/// What to record about a training, besides its result.
struct InstrumentArguments {
  bool timeline = false;
  std::size_t timeline_events = 20000;
  std::size_t sync_stats = 0;  ///< synchronisations between two lines; 0: no lines

  /// has_folder: the run has one. no_sync: why `sync-stats` is refused, if it is.
  void describe(core::OptionList& list, bool has_folder, const std::string& no_sync);
};

/// The instruments of one process: of all workers, or of a rank's. If nothing is to be recorded, workers run unwrapped.
class Instruments {
 public:
  /// workers: in the run. Those in this process are `here`, from number `first` on. `say` prints lines of statistics.
  Instruments(const InstrumentArguments& arguments, int workers, int first, int here, SyncStats::Say say);
  ~Instruments();

  /// Runs body(worker) and records it. Collective if ranks record a timeline.
  void watch(comm::Worker& worker, const std::function<void(comm::Worker&)>& body);

  /// Callback for a simulation's messages; null without a timeline.
  std::function<void(const sim::Transfer&)> on_transfer();

  /// In worker 0's process, at the end: writes timeline.json if requested. clock: "simulated" or "wall".
  void write(const metrics::RunFolder& folder, const char* clock);

 private:
  struct Logs;
  bool one_clock() const { return logs_.size() == timeline_.workers.size(); }
  bool is_here(int rank) const { return rank >= first_ && rank - first_ < static_cast<int>(logs_.size()); }
  Logs& logs_of(int rank) { return *logs_[static_cast<std::size_t>(rank - first_)]; }
  void run(comm::Worker& worker, const std::function<void(comm::Worker&)>& body);
  void gather(comm::Communicator& comm, const comm::ClockAlignment& clocks);

  InstrumentArguments arguments_;
  int first_;
  std::vector<std::unique_ptr<Logs>> logs_;  // of the workers in this process
  metrics::Timeline timeline_;
  SyncStats stats_;
};

}  // namespace paragrad::worlds
