#include "comm/window_self_test.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/tags.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {
namespace {

constexpr std::size_t odd_length = 1237;
constexpr std::size_t timed_floats = 65536;
constexpr int additions = 8;
constexpr int timed_rounds = 20;
constexpr double absence_s = 0.1;

/// Returns what is wrong with the contents, the same on all workers; empty if nothing is.
std::string check_contents(Communicator& comm, Window& window, Window& counts, std::atomic<std::uint64_t>& steps) {
  const std::vector<float> ones(odd_length, 1.f);
  std::uint64_t tickets = 0;
  for (int round = 0; round < additions; ++round) {
    for (int step = 0; step < comm.size(); ++step) {
      const int target = (comm.rank() + step) % comm.size();
      window.lock(target, Window::Lock::shared);
      window.accumulate(target, 0, ones);
      window.unlock(target);
      ++steps;
    }
    const int next = (comm.rank() + 1) % comm.size();
    counts.lock(next, Window::Lock::shared);
    counts.accumulate(next, 0, std::span(ones).first(1));
    counts.unlock(next);
    counts.lock(comm.rank(), Window::Lock::exclusive);
    counts.memory()[0] += 1;
    counts.unlock(comm.rank());
    tickets += counts.fetch_add(0, 0, 1);
    ++steps;
  }
  counts.fetch_add(0, 1, tickets);
  barrier(comm);
  const auto all = static_cast<std::uint64_t>(additions * comm.size());
  std::string wrong;
  window.lock(comm.rank(), Window::Lock::shared);
  for (const float x : window.memory())
    if (x != static_cast<float>(all)) wrong = "concurrent accumulates of several workers are partly lost";
  window.unlock(comm.rank());
  counts.lock(comm.rank(), Window::Lock::shared);
  if (wrong.empty() && counts.memory()[0] != 2 * additions)
    wrong = "a worker that locks its own window loses the accumulates of others";
  counts.unlock(comm.rank());
  const bool once = counts.fetch_add(0, 0, 0) == all && counts.fetch_add(0, 1, 0) == all * (all - 1) / 2;
  if (wrong.empty() && !once) wrong = "fetch_add does not return every number exactly once";
  return first_error(comm, wrong);
}

double fastest_s(Communicator& comm, std::atomic<std::uint64_t>& steps, const std::function<void()>& action) {
  double best_s = std::numeric_limits<double>::infinity();
  for (int round = 0; round < timed_rounds; ++round) {
    const double begin_s = comm.now_s();
    action();
    best_s = std::min(best_s, comm.now_s() - begin_s);
    ++steps;
  }
  return best_s;
}

/// Worker 0 asks, worker 1 answers: over messages, then over its window while it waits for a counter.
void compare_rates(Communicator& comm, Window& window, Window& counts, WindowTrial& trial,
                   std::atomic<std::uint64_t>& steps) {
  std::vector<float> data(timed_floats), sum(timed_floats);
  const auto exchange = [&](int asker, int answerer) {
    if (comm.rank() == asker) {
      comm.send(answerer, control_tag, std::span<const float>{});
      comm.receive(answerer, control_tag, data);
    } else {
      comm.receive(asker, control_tag, std::span<float>{});
      comm.send(asker, control_tag, std::span<const float>(data));
    }
  };
  if (comm.rank() > 1) return;
  const double message_s = fastest_s(comm, steps, [&] { exchange(0, 1); });
  const double sum_s = fastest_s(comm, steps, [&] { comm.add(data, sum); });
  if (comm.rank() == 1) {
    while (!counts.await_counter_for(2, 1, 1e-3)) {  // in short waits, so that it polls as actively as for the messages
    }
    return;
  }
  const auto transfer_s = [&](const std::function<void()>& transfer) {
    return fastest_s(comm, steps, [&] {
      window.lock(1, Window::Lock::shared);
      transfer();
      window.unlock(1);
    });
  };
  trial.get_share = message_s / transfer_s([&] { window.get(1, 0, data); });
  trial.accumulate_share = (message_s + sum_s) / transfer_s([&] { window.accumulate(1, 0, data); });
  counts.fetch_add(1, 2, 1);
}

/// Worker 1 stays outside MPI for a while; checks whether worker 0 waits for it. Emulated workers use no MPI, so worker 1
/// need not sleep.
void look_for_progress(Communicator& comm, Window& window, WindowTrial& trial) {
  barrier(comm);
  if (comm.rank() == 1 && comm.simulated_time() == nullptr)
    std::this_thread::sleep_for(std::chrono::duration<double>(absence_s));
  if (comm.rank() != 0) return barrier(comm);
  std::vector<float> data(1);
  const double begin_s = comm.now_s();
  window.lock(1, Window::Lock::shared);
  window.get(1, 0, data);
  window.unlock(1);
  trial.needs_target = comm.now_s() - begin_s > absence_s / 2;
  barrier(comm);
}

}  // namespace

WindowTrial try_windows(Communicator& comm, const WindowOpener& open, std::atomic<std::uint64_t>& steps) {
  WindowTrial trial;
  const auto small = open(odd_length, 0), counts = open(1, 3), large = open(comm.rank() == 1 ? timed_floats : 3, 0);
  trial.wrong = check_contents(comm, *small, *counts, steps);
  if (trial.wrong.empty() && comm.size() > 1) {
    compare_rates(comm, *large, *counts, trial, steps);
    look_for_progress(comm, *large, trial);
  }
  barrier(comm);
  return trial;
}

WindowVerdict judge(const WindowTrial& trial, int workers) {
  constexpr const char* windows = "this MPI's one-sided windows";
  if (!trial.wrong.empty()) return {false, core::format("{} cannot be used: {}", windows, trial.wrong), 0};
  if (workers == 1) return {true, core::format("{} work", windows), trial.get_share};
  const std::string shares =
      core::format("get and accumulate at {:.2g} and {:.2g} of the message rate", trial.get_share, trial.accumulate_share);
  return {
      true,
      core::format("{} work: {}{}", windows, shares, trial.needs_target ? ", but only while the target is inside MPI" : ""),
      trial.get_share};
}

WindowVerdict self_test_windows(Worker& worker, double limit_s) {
  // An attempt that hangs keeps these alive.
  const auto trial = std::make_shared<WindowTrial>();
  const auto steps = std::make_shared<std::atomic<std::uint64_t>>(0);
  const bool ended = worker.attempt(
      [trial, steps](Communicator& comm) {
        const auto open = [&](std::size_t floats, std::size_t counters) { return comm.open_window(floats, counters); };
        try {
          *trial = try_windows(comm, open, *steps);
        } catch (const std::exception& error) {
          trial->wrong = error.what();
        }
      },
      limit_s, steps);
  WindowTrial mine;
  if (ended) mine = *trial;
  if (!ended) mine.wrong = core::format("they hang (an operation did not end within {:.0f} s)", limit_s);
  mine.wrong = first_error(worker.comm(), mine.wrong);
  WindowVerdict verdict = judge(mine, worker.size());
  // Only worker 0 has measured. Its text is distributed to all like an error.
  const std::string of_zero = first_error(worker.comm(), worker.rank() == 0 && !verdict.usable ? verdict.text : "");
  double get_share = worker.rank() == 0 ? mine.get_share : 0;
  sum_in_rank_order(worker.comm(), {&get_share, 1});
  if (!of_zero.empty()) return {false, of_zero, get_share};
  return {true, first_error(worker.comm(), worker.rank() == 0 ? verdict.text : ""), get_share};
}

}  // namespace paragrad::comm
