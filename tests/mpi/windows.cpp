// Under mpiexec -n 2 … 4: the programs that hold among emulated workers hold over MPI's windows, on the main thread and in
// tasks beside it. Exits with 1 and says what differs.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>

#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "comm/window_programs.hpp"
#include "comm/window_self_test.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;
using comm::Communicator;
using comm::Window;

namespace {

constexpr int rounds = 4;  // where ranks share cores, whoever waits for a lock spins while others could give it back

void on_the_main_thread(comm::Worker& worker) {
  for (const auto& program : window_programs(rounds)) program.run(worker.comm());
}

void in_tasks_beside_other_traffic(comm::Worker& worker) {
  if (worker.size() > 3) return;
  for (const auto& program : window_programs(rounds)) {
    worker.launch([&program](Communicator& comm) { program.run(comm); });
    std::vector<float> data(20000, 1.f);
    for (int i = 0; i < 2; ++i) (*comm::make_allreduce("ring"))(worker.comm(), data);
    worker.join();
  }
}

/// A server's thread and the tasks of its own worker use one window at the same time.
void a_service_and_the_tasks_of_its_worker_share_a_window(comm::Worker& worker) {
  constexpr std::size_t length = 5000;
  const auto all = static_cast<std::uint64_t>(rounds * worker.size());
  std::unique_ptr<Window> window;
  worker.launch([&](Communicator& comm) { window = comm.open_window(length, 2); });
  worker.join();
  if (worker.rank() == 0)
    worker.serve([&](Communicator& comm) {
      for (std::uint64_t pushed = 0; pushed < all;) {
        pushed = window->await_counter(0, pushed + 1);
        locked(*window, comm.rank(), Window::Lock::exclusive, [&] {
          const auto memory = window->memory();
          hold(std::all_of(memory.begin(), memory.end(), [&](float x) { return x == memory[0]; }), "pushes come whole");
        });
      }
    });
  const std::vector<float> ones(length, 1.f);
  for (int round = 0; round < rounds; ++round)
    worker.launch([&](Communicator&) {
      locked(*window, 0, Window::Lock::exclusive, [&] { window->accumulate(0, 0, ones); });
      window->fetch_add(0, 0, 1);
    });
  worker.join();
  worker.join_service();
  worker.launch([&](Communicator& comm) {
    comm::barrier(comm);
    if (comm.rank() == 0)
      hold(own_memory(comm, *window) == std::vector<float>(length, static_cast<float>(all)), "all pushes have come");
    window.reset();
  });
  worker.join();
}

/// Whatever the rates on this machine: what is wrong with the contents, or hangs, would be told otherwise.
void the_check_finds_windows_right(comm::Worker& worker) {
  const comm::WindowVerdict verdict = comm::self_test_windows(worker);
  if (worker.rank() == 0) std::printf("%s\n", verdict.text.c_str());
  hold(verdict.usable, verdict.text);
}

void an_attempt_that_hangs_is_given_up(comm::Worker& worker) {
  hold(worker.attempt([](Communicator& comm) { comm::barrier(comm); }, 20), "an attempt that ends");
  if (worker.rank() == 0) {
    const auto forever = std::make_shared<std::byte>();
    hold(!worker.attempt([forever](Communicator& comm) { comm.receive(1, 9, std::span(forever.get(), 1)); }, 0.2),
         "an attempt that does not end");
  } else {
    hold(worker.attempt([](Communicator&) {}, 20), "the others' part of it ends");
  }
  comm::barrier(worker.comm());  // others are left to talk to
}

/// As on a machine with other work.
void an_attempt_that_is_slow_but_goes_on_is_not_given_up(comm::Worker& worker) {
  const auto steps = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto slow = [steps](Communicator&) {
    for (int step = 0; step < 10; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ++*steps;
    }
  };
  hold(worker.attempt(slow, 0.5, steps), "an attempt of 1 s whose steps take 0.1 s, with a limit of 0.5 s");
}

}  // namespace

int main() {
  comm::MpiSession session;
  try {
    const auto device = backend::make_device("reference");
    comm::MpiCommunicator comm(*device, 30);
    comm::MpiWorker worker(comm);
    on_the_main_thread(worker);
    in_tasks_beside_other_traffic(worker);
    an_attempt_that_is_slow_but_goes_on_is_not_given_up(worker);
    a_service_and_the_tasks_of_its_worker_share_a_window(worker);
    the_check_finds_windows_right(worker);
    hold(worker.part(), "MPI can be ended in common after attempts that ended");
    an_attempt_that_hangs_is_given_up(worker);
    if (comm.rank() == 0) std::printf("all of it holds over %d ranks\n", comm.size());
    hold(!worker.part(), "MPI cannot be ended in common after an attempt that hangs");
    session.leave(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
