#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/command.hpp"
#include "app/sync_stats.hpp"
#include "comm/clock_alignment.hpp"
#include "comm/worker.hpp"
#include "metrics/run_folder.hpp"
#include "metrics/timeline.hpp"
#include "sim/simulation.hpp"

namespace paragrad::app {

/// What is to be watched of a training, apart from its result.
struct InstrumentArguments {
  bool timeline = false;
  std::size_t timeline_events = 20000;
  std::size_t sync_stats = 0;  ///< synchronisations between two lines; 0: none
};

void add_instrument_options(CLI::App& parser, InstrumentArguments& arguments);

/// The instruments of one process: of all emulated workers, or of one rank. Where nothing is to be watched the workers run
/// as they are.
class Instruments {
 public:
  /// workers: of the run. here: of them, in this process: all, or one. Lines of statistics go to `say`.
  Instruments(const InstrumentArguments& arguments, int workers, int here, SyncStats::Say say);
  ~Instruments();

  /// Runs body(worker), watched. Collective where ranks have a timeline.
  void watch(comm::Worker& worker, const std::function<void(comm::Worker&)>& body);

  /// Whom a simulation is to tell of its messages; nobody without a timeline.
  std::function<void(const sim::Transfer&)> on_transfer();

  /// The process of worker 0, after all: writes timeline.json, if there is to be one. clock: "simulated" or "wall".
  void write(const metrics::RunFolder& folder, const char* clock);

 private:
  struct Logs;
  bool one_clock() const { return logs_.size() == timeline_.workers.size(); }
  Logs& logs_of(int rank) { return *logs_[one_clock() ? static_cast<std::size_t>(rank) : 0]; }
  void run(comm::Worker& worker, const std::function<void(comm::Worker&)>& body);
  void gather(comm::Communicator& comm, const comm::ClockAlignment& clocks);

  InstrumentArguments arguments_;
  std::vector<std::unique_ptr<Logs>> logs_;  // of the workers here
  metrics::Timeline timeline_;
  SyncStats stats_;
};

}  // namespace paragrad::app
