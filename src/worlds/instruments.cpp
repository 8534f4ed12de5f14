#include "worlds/instruments.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include "comm/lists.hpp"
#include "comm/wrappers/recording_worker.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "metrics/activity_log.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::worlds {
namespace {

constexpr int timeline_tag = 902;
constexpr std::size_t most_spans = 6'000'000;  // over all workers: about 600 MB of JSON

std::size_t spans_per_row(const InstrumentArguments& arguments, int workers) {
  constexpr std::size_t rows = 3;  // per worker: its own activity, its tasks, its messages
  return std::min(arguments.timeline_events,
                  std::max<std::size_t>(2, most_spans / rows / static_cast<std::size_t>(workers)));
}

template <class Event>
void align(std::vector<Event>& events, const comm::ClockAlignment& clocks) {
  for (Event& event : events) {
    event.begin_ps = clocks.aligned(event.begin_ps);
    event.end_ps = clocks.aligned(event.end_ps);
  }
}

}  // namespace

void InstrumentArguments::describe(core::OptionList& list, bool has_folder, const std::string& no_sync) {
  list.group("Profiling");
  list.flag("timeline", timeline,
            "write timeline.json, a trace of every worker's activity for ui.perfetto.dev, into the run folder")
      .mark(core::OptionMark::observes)
      .unless(!has_folder, "writes into the run folder: choose one with `out`");
  list.number("timeline-events", timeline_events, {.least = 2, .most = most_spans},
              "maximum events kept for each worker, for its communication tasks and for its messages (first and last)")
      .mark(core::OptionMark::observes)
      .when(timeline, "needs `timeline`");
  list.number("sync-stats", sync_stats, core::any_count,
              "synchronisations between two lines on how the workers spent their time (0: no lines)")
      .mark(core::OptionMark::observes)
      .off("0")
      .unless(!no_sync.empty(), no_sync);
}

struct Instruments::Logs {
  explicit Logs(std::size_t limit) : own(limit), of_tasks(limit), sent(limit) {}

  metrics::WorkerTimeline take() {
    metrics::WorkerTimeline worker{node, own.spans().take(), of_tasks.spans().take(), sent.take(), 0};
    worker.dropped = own.spans().dropped() + of_tasks.spans().dropped() + sent.dropped();
    return worker;
  }

  int node = 0;
  metrics::ActivityLog own;
  metrics::ActivityLog of_tasks;
  metrics::HeadTailBuffer<metrics::Transfer> sent;
};

Instruments::Instruments(const InstrumentArguments& arguments, int workers, int first, int here, SyncStats::Say say)
    : arguments_(arguments), first_(first), stats_(workers, std::move(say)) {
  timeline_.most_per_row = arguments.timeline ? spans_per_row(arguments, workers) : 0;
  timeline_.workers.resize(static_cast<std::size_t>(workers));
  if (!arguments.timeline && arguments.sync_stats == 0) here = 0;
  for (int i = 0; i < here; ++i) logs_.push_back(std::make_unique<Logs>(timeline_.most_per_row));
}

Instruments::~Instruments() = default;

void Instruments::watch(comm::Worker& worker, const std::function<void(comm::Worker&)>& body) {
  if (logs_.empty()) return body(worker);
  if (!arguments_.timeline) return run(worker, body);
  logs_of(worker.rank()).node = worker.rank() / std::max(1, worker.comm().workers_per_node());
  if (one_clock()) return run(worker, body);
  const comm::ClockOffset before = comm::measure_clock_offset(worker.comm());
  run(worker, body);
  gather(worker.comm(), {before, comm::measure_clock_offset(worker.comm())});
}

void Instruments::run(comm::Worker& worker, const std::function<void(comm::Worker&)>& body) {
  Logs& logs = logs_of(worker.rank());
  std::optional<metrics::ActivityTotals> totals;
  if (arguments_.sync_stats > 0)
    totals.emplace(
        arguments_.sync_stats,
        [&](std::size_t synchronisation, const metrics::PeriodTimes& times) {
          if (one_clock())
            stats_.post(synchronisation, times);
          else
            stats_.gather(worker.comm(), synchronisation, times);
        },
        &logs.own);
  core::ActivityRecorder& own = totals ? static_cast<core::ActivityRecorder&>(*totals) : logs.own;
  comm::RecordingWorker watched(worker, own, logs.of_tasks);
  body(watched);
}

// Worker 0 collects the timelines of other processes' workers, converted to its own clock.
void Instruments::gather(comm::Communicator& comm, const comm::ClockAlignment& clocks) {
  if (!is_here(0)) {
    metrics::WorkerTimeline mine = logs_of(comm.rank()).take();
    align(mine.own, clocks);
    align(mine.of_tasks, clocks);
    const std::vector<std::uint64_t> numbers{static_cast<std::uint64_t>(mine.node), mine.dropped};
    comm::send_list(comm, 0, timeline_tag, numbers);
    comm::send_list(comm, 0, timeline_tag, std::vector{clocks.error_s()});
    comm::send_list(comm, 0, timeline_tag, mine.own);
    return comm::send_list(comm, 0, timeline_tag, mine.of_tasks);
  }
  if (comm.rank() != 0) return;
  for (int rank = static_cast<int>(logs_.size()); rank < comm.size(); ++rank) {
    metrics::WorkerTimeline& theirs = timeline_.workers[static_cast<std::size_t>(rank)];
    const auto numbers = comm::receive_list<std::uint64_t>(comm, rank, timeline_tag);
    const auto error_s = comm::receive_list<double>(comm, rank, timeline_tag);
    theirs.own = comm::receive_list<metrics::Span>(comm, rank, timeline_tag);
    theirs.of_tasks = comm::receive_list<metrics::Span>(comm, rank, timeline_tag);
    theirs.node = static_cast<int>(numbers[0]);
    theirs.dropped = numbers[1];
    timeline_.clock_error_s = std::max(timeline_.clock_error_s, error_s[0]);
  }
}

std::function<void(const sim::Transfer&)> Instruments::on_transfer() {
  if (!arguments_.timeline) return nullptr;
  return [this](const sim::Transfer& message) {
    logs_of(message.from).sent.add({message.begin_ps, message.end_ps, message.to, message.bytes});
  };
}

void Instruments::write(const metrics::RunFolder& folder, const char* clock) {
  if (!arguments_.timeline) return;
  timeline_.clock = clock;
  // Taken only now: the last message has arrived.
  for (std::size_t i = 0; i < logs_.size(); ++i) timeline_.workers[i] = logs_[i]->take();
  system::replace_file(
      folder.file("timeline.json"), [&](std::ostream& out) { metrics::write_trace(timeline_, out); },
      system::Links::replace);
}

}  // namespace paragrad::worlds
