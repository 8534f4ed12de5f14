// What is recorded of emulated workers, and that recording changes nothing.
#include "comm/wrappers/recording_worker.hpp"

#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/clock_alignment.hpp"
#include "metrics/activity_log.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using comm::Communicator;
using core::Activity;
using metrics::Span;

namespace {

struct Recorded {
  std::vector<std::vector<Span>> own, of_tasks;
  std::vector<Time> ended;
  std::vector<std::vector<float>> data;
};

Recorded exchange(int workers, bool record, const SimulationOptions& options = {}) {
  Recorded result;
  result.own.resize(static_cast<std::size_t>(workers));
  result.of_tasks = result.own;
  result.ended.resize(result.own.size());
  for (std::size_t i = 0; i < result.own.size(); ++i) result.data.emplace_back(2000 * (i + 1) % 5003 + 3000, 1.f);
  const auto allreduce = comm::make_allreduce("ring");
  const auto body = [&](comm::Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    std::vector<float> beside(20000, 1.f), after(10000, 2.f);
    for (int step = 0; step < 3; ++step) {
      worker.launch([&](Communicator& comm) { (*allreduce)(comm, beside); });
      worker.compute({}, [&] {
        worker.device().run(backend::Scale{2, result.data[rank]});
        worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Scale{2, result.data[rank]}); });
      });
      (*allreduce)(worker.comm(), after);
      worker.join();
    }
    result.data[rank].insert(result.data[rank].end(), beside.begin(), beside.end());
    result.ended[rank] = simulated_time(worker);
  };
  run(timed(uncontended(workers, wire), 1e-7), workers, options, [&](comm::Worker& worker) {
    if (!record) return body(worker);
    const auto rank = static_cast<std::size_t>(worker.rank());
    metrics::ActivityLog own(100000), of_tasks(100000);
    comm::RecordingWorker watched(worker, own, of_tasks);
    body(watched);
    result.own[rank] = own.spans().take();
    result.of_tasks[rank] = of_tasks.spans().take();
  });
  return result;
}

bool nest_or_are_disjoint(const Span& a, const Span& b) {
  const auto within = [](const Span& in, const Span& out) { return out.begin_ps <= in.begin_ps && in.end_ps <= out.end_ps; };
  return a.end_ps <= b.begin_ps || b.end_ps <= a.begin_ps || within(a, b) || within(b, a);
}

Time sum_of(const std::vector<Span>& spans, Activity activity) {
  Time sum = 0;
  for (const Span& span : spans)
    if (span.activity == activity) sum += span.end_ps - span.begin_ps;
  return sum;
}

/// A clock that is wrong and runs at another speed.
class WrongClock : public comm::RecordingCommunicator {
 public:
  WrongClock(Communicator& inner, core::ActivityRecorder& recorder) : RecordingCommunicator(inner, recorder) {}
  double now_s() override { return 7.5 * rank() + (1 + 1e-3 * rank()) * RecordingCommunicator::now_s(); }
};

}  // namespace

TEST_CASE("recording changes neither results nor simulated times", "[sim]") {
  const int workers = GENERATE(1, 2, 5);
  const Recorded with = exchange(workers, true), without = exchange(workers, false);
  CHECK(with.ended == without.ended);
  CHECK(with.data == without.data);
}

TEST_CASE("recording thousands of waits of no length takes no time", "[sim]") {
  const auto ended = [](bool record) {
    std::vector<Time> times(2);
    run(timed(uncontended(2, wire), 1e-7), 2, {}, [&](comm::Worker& worker) {
      metrics::ActivityLog own(10), of_tasks(10);
      comm::RecordingWorker watched(worker, own, of_tasks);
      Communicator& comm = record ? watched.comm() : worker.comm();
      const int other = 1 - comm.rank();
      std::vector<comm::Request> sends;
      for (int i = 0; i < 3000; ++i) sends.push_back(comm.start_send(other, 0, std::span<const std::byte>{}));
      for (const comm::Request send : sends) comm.wait(send);
      for (int i = 0; i < 3000; ++i) comm.receive(other, 0, std::span<std::byte>{});
      times[static_cast<std::size_t>(comm.rank())] = simulated_time(worker);
    });
    return times;
  };
  CHECK(ended(true) == ended(false));
}

TEST_CASE("the spans of a worker, and those of its tasks, nest or are disjoint, and fill its time", "[sim]") {
  const Recorded recorded = exchange(4, true);
  for (const auto* rows : {&recorded.own, &recorded.of_tasks})
    for (const auto& row : *rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) REQUIRE(nest_or_are_disjoint(row[i], row[j]));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const auto& row = recorded.own[rank];
    CHECK(sum_of(row, Activity::compute) + sum_of(row, Activity::wait) + sum_of(row, Activity::reduce) ==
          recorded.ended[rank]);
    const auto& tasks = recorded.of_tasks[rank];
    CHECK(sum_of(tasks, Activity::task) == sum_of(tasks, Activity::wait) + sum_of(tasks, Activity::reduce));
    CHECK(sum_of(tasks, Activity::reduce) > 0);
  }
}

TEST_CASE("every message is told once, and alone it takes latency and size over bandwidth", "[sim]") {
  const std::string network = GENERATE("fifo", "segmented");
  std::vector<Transfer> transfers;
  SimulationOptions options;
  options.network = network;
  options.on_transfer = [&](const Transfer& transfer) { transfers.push_back(transfer); };
  const std::vector<std::size_t> sizes{1, 500, 30'000};  // floats; eager and rendezvous
  const Report report = run(timed(uncontended(2, wire), 1e-7), 2, options, [&](comm::Worker& worker) {
    for (const std::size_t floats : sizes) {
      std::vector<float> data(floats);
      if (worker.rank() == 0)
        worker.comm().send(1, 0, std::span<const float>(data));
      else
        worker.comm().receive(0, 0, std::span(data));
      pass_time(worker, 10'000);  // longer than a message is on the link
    }
  });
  CHECK(report.messages == transfers.size());
  REQUIRE(transfers.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(transfers[i].from == 0);
    CHECK(transfers[i].to == 1);
    CHECK(transfers[i].bytes == static_cast<std::int64_t>(4 * sizes[i]));
    CHECK(static_cast<double>(transfers[i].end_ps - transfers[i].begin_ps) ==
          Approx(message_ps(wire, 4. * static_cast<double>(sizes[i]))).margin(2));
  }
}

TEST_CASE("watching messages changes nothing and is the same with any number of host threads", "[sim][threads]") {
  const std::string network = GENERATE("fifo", "segmented");
  const auto watched = [&](int host_threads) {
    std::vector<std::tuple<int, int, std::int64_t, Time, Time>> seen;
    SimulationOptions options;
    options.network = network;
    options.host_threads = host_threads;
    options.on_transfer = [&](const Transfer& t) { seen.emplace_back(t.from, t.to, t.bytes, t.begin_ps, t.end_ps); };
    const Recorded recorded = exchange(5, false, options);
    return std::pair(seen, recorded.ended);
  };
  SimulationOptions unwatched;
  unwatched.network = network;
  const auto expected = watched(1);
  CHECK(expected.second == exchange(5, false, unwatched).ended);
  for (const int threads : {2, 4}) CHECK(watched(threads) == expected);
}

TEST_CASE("clocks that are wrong and of different speeds are brought to worker 0's within the told error", "[comm]") {
  const int workers = GENERATE(1, 2, 4);
  run(timed(uncontended(workers, wire), 1e-7), workers, {}, [&](comm::Worker& worker) {
    metrics::ActivityLog unused(0);
    WrongClock clock(worker.comm(), unused);
    const comm::ClockOffset before = comm::measure_clock_offset(clock);
    std::vector<double> local_s, true_s;
    for (int i = 0; i < 5; ++i) {
      pass_time(worker, 100'000 * static_cast<std::size_t>(1 + worker.rank()));
      local_s.push_back(clock.now_s());
      true_s.push_back(worker.comm().now_s());
    }
    comm::barrier(worker.comm());
    const comm::ClockAlignment alignment(before, comm::measure_clock_offset(clock));
    CHECK(alignment.error_s() < 2e-6);
    for (std::size_t i = 0; i < local_s.size(); ++i) {
      const double aligned_s = static_cast<double>(alignment.aligned(metrics::picoseconds(local_s[i]))) * 1e-12;
      CHECK(std::abs(aligned_s - true_s[i]) <= alignment.error_s() + 1e-12);
    }
  });
}
