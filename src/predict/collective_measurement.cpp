#include "predict/collective_measurement.hpp"

#include "backend/device.hpp"
#include "comm/allreduce.hpp"
#include "comm/collectives/cost.hpp"
#include "comm/wrappers/addition_counter.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/memory.hpp"
#include "core/units.hpp"
#include "predict/collective_trial.hpp"
#include "sim/network/surroundings.hpp"
#include "sim/simulation.hpp"

namespace paragrad::predict {
namespace {

/// One worker's part of a measurement; only in the simulator do the workers share a clock.
struct Share {
  std::vector<double> begin_s, end_s;  // of each repetition
  comm::Traffic traffic;               // of one repetition
  std::uint64_t added_bytes = 0;
  std::string explanation;
};

Share take_part(comm::Communicator& plain, const CollectiveSettings& arguments, std::size_t floats, int warm_ups) {
  comm::AdditionCounter comm(plain);
  CollectiveTrial trial(arguments.parsed_operation(), arguments.collective, comm, floats);
  Share share;
  if (comm.rank() == 0) share.explanation = trial.explanation();
  for (int i = -warm_ups; i < arguments.repeat; ++i) {
    if (warm_ups + arguments.repeat > 1) comm::barrier(plain);
    const comm::Traffic before = comm.traffic();
    const std::uint64_t added_bytes = comm.added_bytes();
    const double begin_s = comm.now_s();
    trial.run(comm);
    if (i < 0) continue;  // first use allocates pages and connections
    share.begin_s.push_back(begin_s);
    share.end_s.push_back(comm.now_s());
    share.traffic = comm.traffic();
    share.traffic -= before;
    share.added_bytes = comm.added_bytes() - added_bytes;
  }
  if (comm.device().computes()) trial.check(comm);
  return share;
}

void count(Measurement& measurement, std::uint64_t messages, std::uint64_t bytes, std::uint64_t added_bytes) {
  measurement.messages += messages;
  measurement.busiest_messages = std::max(measurement.busiest_messages, messages);
  measurement.busiest_bytes = std::max(measurement.busiest_bytes, bytes);
  measurement.busiest_additions = std::max(measurement.busiest_additions, added_bytes);
}

/// Time of the algorithm's closed form on this platform; nothing if it has none, or none for where the workers are.
std::optional<double> closed_form_s(const CollectiveSettings& arguments, const sim::Platform& platform, int workers,
                                    std::size_t bytes) {
  const int workers_per_node =
      arguments.workers_per_node > 0 ? arguments.workers_per_node : platform.workers_per_node(workers);
  if (workers_per_node == 0 || !comm::has_closed_form(arguments.collective)) return std::nullopt;
  return comm::cost_of(arguments.parsed_operation(), arguments.collective, workers, static_cast<double>(bytes),
                       sim::surroundings_of(platform, workers_per_node))
      .time_s;
}

/// The platform with devices that add without taking time.
sim::Platform with_free_additions(sim::Platform platform) {
  constexpr double unlimited = 1e30;
  platform.device = {};
  platform.device.flops_per_s = platform.device.bytes_per_s = unlimited;
  platform.host.reduces = false;
  return platform;
}

/// Why the simulated time is not that of the closed form, as a sentence. messages_s: simulated without additions.
std::string why_not(const Measurement& m, double messages_s, const sim::Platform::Reduction& reduction) {
  const auto time = [](double seconds) { return core::format_quantity(seconds, core::Unit::time); };
  const double additions_s = m.least_s() - messages_s, delay_s = messages_s - *m.closed_form_s;
  std::vector<std::string> causes;
  if (additions_s > 0.05 * *m.closed_form_s)
    causes.push_back(core::format(
        "the additions, {} each segment of {} ({})", reduction.launches ? "a kernel for" : "which follow",
        core::format_quantity(static_cast<double>(reduction.segmentation.segment_floats * sizeof(float)), core::Unit::bytes),
        time(additions_s)));
  if (delay_s > 0.05 * *m.closed_form_s)
    causes.push_back(core::format("latencies of segments and links that several messages share ({})", time(delay_s)));
  if (delay_s < -0.05 * *m.closed_form_s)
    causes.push_back(core::format("that segments are passed on while others arrive (-{})", time(-delay_s)));
  return core::format("the closed form leaves out {}", core::join(causes, ", and "));
}

/// In the simulator: from the last worker's start to the last worker's end.

}  // namespace

Measurement emulate_once(const CollectiveSettings& arguments, const sim::Platform& platform, int workers,
                         std::size_t floats) {
  if (const auto device = backend::make_device(arguments.device); device->computes() && device->is_host())
    core::require_memory(static_cast<double>(floats) * sizeof(float) * workers *
                             (arguments.parsed_operation() == comm::Operation::all_to_all ? 2 : 1),
                         core::format("an array of {} bytes at each of {} workers", floats * sizeof(float), workers));
  std::vector<Share> shares(static_cast<std::size_t>(workers));
  const sim::SimulationOptions options{.device = arguments.device,
                                       .network = arguments.network,
                                       .oversubscribe = arguments.oversubscribe,
                                       .workers_per_node = arguments.workers_per_node};
  sim::run(platform, workers, options, [&](comm::Worker& worker) {
    shares[static_cast<std::size_t>(worker.rank())] = take_part(worker.comm(), arguments, floats, 0);
  });
  Measurement result{arguments.parsed_operation(), workers, floats * sizeof(float)};
  result.explanation = shares[0].explanation;
  for (std::size_t i = 0; i < shares[0].end_s.size(); ++i) {
    double begin_s = 0, end_s = 0;
    for (const Share& share : shares) {
      begin_s = std::max(begin_s, share.begin_s[i]);
      end_s = std::max(end_s, share.end_s[i]);
    }
    result.times_s.push_back(end_s - begin_s);
  }
  for (const Share& share : shares) count(result, share.traffic.messages, share.traffic.sent_bytes, share.added_bytes);
  return result;
}

Measurement emulate(const CollectiveSettings& arguments, const sim::Platform& platform, int workers, std::size_t floats) {
  Measurement result = emulate_once(arguments, platform, workers, floats);
  result.closed_form_s = closed_form_s(arguments, platform, workers, result.bytes);
  if (!result.is_near_closed_form())
    result.difference = why_not(result, emulate_once(arguments, with_free_additions(platform), workers, floats).least_s(),
                                platform.reduction);
  return result;
}

Measurement measure(comm::Communicator& comm, const CollectiveSettings& arguments, std::size_t floats) {
  const Share mine = take_part(comm, arguments, floats, 2);
  const auto repeat = mine.end_s.size(), width = repeat + 3;
  std::vector<double> all(static_cast<std::size_t>(comm.size()) * width);  // [workers][times, messages, bytes, additions]
  double* row = &all[static_cast<std::size_t>(comm.rank()) * width];
  for (std::size_t i = 0; i < repeat; ++i) row[i] = mine.end_s[i] - mine.begin_s[i];
  row[repeat] = static_cast<double>(mine.traffic.messages);
  row[repeat + 1] = static_cast<double>(mine.traffic.sent_bytes);
  row[repeat + 2] = static_cast<double>(mine.added_bytes);
  comm::sum_in_rank_order(comm, all);
  Measurement result{arguments.parsed_operation(), comm.size(), floats * sizeof(float)};
  result.times_s.resize(repeat);
  result.explanation = mine.explanation;
  for (const double* r = all.data(); r != all.data() + all.size(); r += width) {
    for (std::size_t i = 0; i < repeat; ++i) result.times_s[i] = std::max(result.times_s[i], r[i]);
    const auto counted = [&](std::size_t i) { return static_cast<std::uint64_t>(r[repeat + i]); };
    count(result, counted(0), counted(1), counted(2));
  }
  return result;
}

}  // namespace paragrad::predict
