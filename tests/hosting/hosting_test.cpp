// Workers that share a process: their collectives, tasks, services, waits and errors.
#include "hosting/hosting.hpp"

#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <thread>

#include "backend/kernels/fill.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "sim/simulation.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/operation_programs.hpp"
#include "tests/comm/thread_communicator.hpp"
#include "tests/comm/window_programs.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;
using comm::Communicator;

namespace {

using Body = std::function<void(comm::Worker&)>;

void host(int workers, const Body& body, int threads = 2) { hosting::run(workers, {.threads = threads}, body); }

/// The same on several processes that share the workers; here they are threads.
void share(int workers, int processes, const Body& body, std::uint64_t delays = 0) {
  run_threads(
      processes,
      [&](Communicator& process) { hosting::run(workers, {.threads = 1, .processes = &process, .stall_s = 10}, body); },
      delays);
}

/// What each worker has after `body`, in some processes and in the simulator.
using Arrays = std::vector<std::vector<float>>;

Arrays hosted(int workers, const std::function<std::vector<float>(comm::Worker&)>& body, int processes = 1) {
  Arrays arrays(static_cast<std::size_t>(workers));
  share(workers, processes, [&](comm::Worker& worker) { arrays[static_cast<std::size_t>(worker.rank())] = body(worker); });
  return arrays;
}

Arrays simulated(int workers, const std::function<std::vector<float>(comm::Worker&)>& body) {
  Arrays arrays(static_cast<std::size_t>(workers));
  sim::run(workers, [&](comm::Worker& worker) { arrays[static_cast<std::size_t>(worker.rank())] = body(worker); });
  return arrays;
}

std::span<float> one(float& value) { return {&value, 1}; }
std::span<const float> one(const float& value) { return {&value, 1}; }

}  // namespace

TEST_CASE("an allreduce among workers of some processes ends in the bits of the simulator's", "[hosting]") {
  const int workers = GENERATE(1, 2, 3, 5, 8), processes = GENERATE(1, 2, 3);
  if (processes > workers) return;
  const std::size_t length = GENERATE(0u, 1u, 1000u, 20001u);  // messages that are copied, and that are not
  for (const auto& algorithm : own_algorithms()) {
    CAPTURE(algorithm, workers, processes, length);
    const auto body = [&](comm::Worker& worker) {
      std::vector<float> data = contribution(worker.rank(), length);
      worker.comm().set_workers_per_node(2);
      (*comm::make_allreduce(algorithm))(worker.comm(), data);
      return data;
    };
    CHECK(hosted(workers, body, processes) == simulated(workers, body));
  }
}

TEST_CASE("the other operations among workers of some processes do what plain loops do", "[hosting]") {
  const auto served = all_served();
  const int processes = GENERATE(1, 2);
  const Task task{.workers = GENERATE(2, 5), .length = 1003, .equal = GENERATE(true, false), .value = whole_number};
  for (const Served& one_served : served) {
    CAPTURE(one_served.name(), task.workers);
    const Arrays found = hosted(
        task.workers, [&](comm::Worker& worker) { return outcome_of(worker.comm(), one_served, task); }, processes);
    for (int rank = 0; rank < task.workers; ++rank)
      CHECK(found[static_cast<std::size_t>(rank)] == expected_of(rank, one_served.operation, task));
  }
}

TEST_CASE("messages of one source and tag do not overtake each other, whatever their length", "[hosting]") {
  const int processes = GENERATE(1, 2);
  std::vector<std::size_t> received;
  share(2, processes, [&](comm::Worker& worker) {
    Communicator& comm = worker.comm();
    const std::vector<std::size_t> lengths{1, 50000, 3, 40000, 5};  // the long ones wait for their receive
    std::vector<float> out(50000), in(50000);
    if (comm.rank() == 0) {
      std::vector<comm::Request> sends;
      for (const std::size_t length : lengths)
        sends.push_back(comm.start_send(1, 7, std::span<const float>(out).first(length)));
      comm.send(1, 8, one(out[0]));
      for (const comm::Request send : sends) comm.wait(send);
    } else {
      comm.receive(0, 8, one(in[0]));  // a message of another tag, sent last
      for (std::size_t i = 0; i < lengths.size(); ++i)
        received.push_back(comm.receive(comm::any_source, 7, std::span<float>(in)).bytes / sizeof(float));
    }
  });
  CHECK(received == std::vector<std::size_t>{1, 50000, 3, 40000, 5});
}

TEST_CASE("the arithmetic of several workers runs at the same time", "[hosting][threads]") {
  std::atomic<int> begun = 0;
  host(2, [&](comm::Worker& worker) {
    worker.compute({}, [&] {
      ++begun;
      while (begun < 2) std::this_thread::yield();  // until the other has begun
    });
  });
  CHECK(begun == 2);
}

TEST_CASE("a service answers tasks of all workers while its own worker computes", "[hosting][threads]") {
  const int processes = GENERATE(1, 2, 3);
  constexpr int workers = 3, rounds = 20;
  std::map<int, int> answered;
  share(workers, processes, [&](comm::Worker& worker) {
    if (worker.rank() == 1)
      worker.serve([&](Communicator& comm) {
        for (int i = 0; i < rounds * workers; ++i) {
          float request = 0;
          const int client = comm.receive(comm::any_source, 1, one(request)).source;
          ++answered[client];
          comm.send(client, 2, one(request + 1));
        }
      });
    for (int round = 0; round < rounds; ++round) {
      float reply = 0;
      worker.launch([&](Communicator& comm) {
        comm.send(1, 1, one(static_cast<float>(round)));
        comm.receive(1, 2, one(reply));
      });
      worker.compute({}, [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
      worker.join();
      if (reply != static_cast<float>(round + 1)) throw std::logic_error("a wrong reply");  // CHECK is for one thread
    }
    worker.join_service();
  });
  for (int rank = 0; rank < workers; ++rank) CHECK(answered[rank] == rounds);
}

TEST_CASE("a wait with a limit ends without the message, which can be waited for again", "[hosting]") {
  host(2, [&](comm::Worker& worker) {
    Communicator& comm = worker.comm();
    float value = 0;
    if (comm.rank() == 0) {
      const comm::Request receive = comm.start_receive(1, 0, one(value));
      CHECK_FALSE(comm.wait_for(receive, 0));
      const double before_s = comm.now_s();
      CHECK_FALSE(comm.wait_for(receive, 0.01));
      CHECK(comm.now_s() - before_s >= 0.01);
      comm.send(1, 0, one(1.f));
      CHECK(comm.wait_for(receive, std::numeric_limits<double>::infinity())->source == 1);
      CHECK(value == 2);
    } else {
      comm.receive(0, 0, one(value));
      comm.send(0, 0, one(2.f));
    }
  });
}

TEST_CASE("the first error of a worker ends all workers of the process and is the program's", "[hosting]") {
  const bool in_a_task = GENERATE(false, true), while_computing = GENERATE(false, true);
  std::atomic<int> unwound = 0;
  const auto fail = [&](comm::Worker& worker) {
    const auto throws = [] { throw core::ConfigError("worker 1 cannot"); };
    if (while_computing)
      worker.compute({}, throws);
    else
      throws();
  };
  struct Counter {
    std::atomic<int>& count;
    ~Counter() { ++count; }
  };
  CHECK_THROWS_WITH(host(4,
                         [&](comm::Worker& worker) {
                           const Counter counter{unwound};
                           comm::barrier(worker.comm());
                           float value = 0;
                           if (worker.rank() == 1 && in_a_task) {
                             worker.launch([&](Communicator&) { throw core::ConfigError("worker 1 cannot"); });
                             worker.join();
                           } else if (worker.rank() == 1) {
                             fail(worker);
                           }
                           worker.comm().receive(1, 0, one(value));
                         }),
                    "worker 1 cannot");
  CHECK(unwound == 4);
}

TEST_CASE("a task that nobody joined is the reason of a run that hangs on it", "[hosting]") {
  CHECK_THROWS_WITH(host(2,
                         [&](comm::Worker& worker) {
                           float value = 0;
                           if (worker.rank() == 1)
                             worker.serve([](Communicator&) { throw core::ConfigError("no service"); });
                           worker.comm().receive(1 - worker.rank(), 0, one(value));
                         }),
                    "no service");
}

TEST_CASE("workers that wait for each other are told who waits for what", "[hosting]") {
  CHECK_THROWS_WITH(
      host(2,
           [](comm::Worker& worker) {
             float value = 0;
             worker.comm().receive(1 - worker.rank(), 0, one(value));
           }),
      "the workers wait for each other: worker 0 waits for a message from worker 1; worker 1 waits for a message "
      "from worker 0");
}

TEST_CASE("a worker that fails takes back the memory of its tasks only when they no longer use it", "[hosting][threads]") {
  std::atomic<bool> used = false, gone = false, wrong = false;
  const int waits_for = GENERATE(0, 1, 2);  // a message, a counter or a lock
  CHECK_THROWS_WITH(host(2,
                         [&](comm::Worker& worker) {
                           if (worker.rank() == 1) {
                             float value = 0;
                             worker.launch([](Communicator& comm) {
                               const auto window = comm.open_window(1, 1);
                               window->lock(1, comm::Window::Lock::exclusive);
                               float never = 0;
                               comm.receive(0, 5, one(never));
                             });
                             worker.comm().receive(0, 0, one(value));  // never sent
                             return;
                           }
                           struct Memory {
                             std::atomic<bool>& gone;
                             ~Memory() { gone = true; }
                           } const memory{gone};
                           const comm::TaskGuard guard(worker);
                           worker.launch([&](Communicator& comm) {
                             const auto window = comm.open_window(1, 1);
                             float value = 0;
                             used = true;
                             try {
                               if (waits_for == 0) comm.receive(1, 5, one(value));  // never sent either
                               if (waits_for == 1) window->await_counter(0, 1);
                               if (waits_for == 2) window->lock(1, comm::Window::Lock::exclusive);
                             } catch (const comm::Failure&) {
                               wrong = gone.load();
                               throw;
                             }
                           });
                           while (!used) worker.compute({}, [] {});
                           throw core::ConfigError("done");
                         }),
                    "done");
  CHECK_FALSE(wrong);
  CHECK(gone);
}

TEST_CASE("a message that arrives after its receiver has failed is not written into the memory it has given back",
          "[hosting]") {
  std::atomic<bool> waiting = false, abandoned = false, sent = false;
  float inbox = 0;
  CHECK_THROWS_WITH(host(2,
                         [&](comm::Worker& worker) {
                           std::vector<float> much(4'000'000);
                           const comm::TaskGuard guard(worker);
                           worker.launch([&](Communicator& comm) {
                             float never = 0;
                             if (comm.rank() == 0) {
                               const comm::Request receive = comm.start_receive(1, 5, one(inbox));
                               waiting = true;
                               try {
                                 comm.wait(receive);
                               } catch (const comm::Failure&) {
                                 abandoned = true;
                                 throw;
                               }
                             }
                             const comm::Request other = comm.start_receive(0, 6, one(never));
                             while (!abandoned) comm.wait_for(other, 0);  // lets the other worker continue
                             comm.send(0, 5, one(1.f));
                             sent = true;
                           });
                           worker.serve([&](Communicator& comm) {  // the worker has to wait for its end, too
                             for (int i = 0; i < 20 || (!sent && i < 1000); ++i) comm.run(backend::Fill{1, much});
                           });
                           while (worker.rank() == 0 && !waiting) worker.compute({}, [] {});
                           if (worker.rank() == 0) throw core::ConfigError("done");
                           worker.join();
                           worker.join_service();
                         }),
                    "done");
  CHECK(sent);
  CHECK(inbox == 0);
}

TEST_CASE("windows among workers of one process do what they promise", "[hosting]") {
  const int workers = GENERATE(1, 2, 3, 5);
  for (const auto& program : window_programs(20)) {
    CAPTURE(program.claim, workers);
    CHECK_NOTHROW(host(workers, [&](comm::Worker& worker) { program.run(worker.comm()); }));
  }
}

TEST_CASE("a shared lock does not overtake an exclusive one that was asked for before", "[hosting]") {
  std::vector<int> granted;
  host(4, [&](comm::Worker& worker) {
    Communicator& comm = worker.comm();
    const auto window = comm.open_window(1, 0);
    float turn = 0, end = 0;
    const bool asks = comm.rank() < 3;
    const comm::Request ended = asks ? comm.start_receive(3, 1, one(end)) : comm::Request{};
    const auto hold = [&](comm::Window::Lock kind, double seconds) {
      window->lock(3, kind);
      granted.push_back(comm.rank());
      CHECK_FALSE(comm.wait_for(ended, seconds));  // lets the others continue
      window->unlock(3);
    };
    if (comm.rank() == 0) {
      comm.send(1, 0, one(1.f));
      hold(comm::Window::Lock::shared, 0.05);
    } else if (comm.rank() == 1) {
      comm.receive(0, 0, one(turn));
      comm.send(2, 0, one(1.f));
      hold(comm::Window::Lock::exclusive, 0);
    } else if (comm.rank() == 2) {
      comm.receive(1, 0, one(turn));
      hold(comm::Window::Lock::shared, 0);
    }
    comm::barrier(comm);
    for (int to = 0; to < 3 && !asks; ++to) comm.send(to, 1, one(1.f));
    if (asks) CHECK(comm.wait_for(ended, std::numeric_limits<double>::infinity()));
  });
  CHECK(granted == std::vector{0, 1, 2});
}

TEST_CASE("workers are shared as evenly as possible, and each has one process", "[hosting]") {
  for (int workers = 1; workers < 20; ++workers)
    for (int processes = 1; processes <= workers; ++processes) {
      const hosting::Placement placement{workers, processes};
      CAPTURE(workers, processes);
      CHECK(placement.first(0) == 0);
      CHECK(placement.first(processes) == workers);
      for (int process = 0; process < processes; ++process) {
        CHECK((placement.count(process) == workers / processes || placement.count(process) == workers / processes + 1));
        for (int i = 0; i < placement.count(process); ++i)
          CHECK(placement.process_of(placement.first(process) + i) == process);
      }
    }
}

TEST_CASE("whenever messages between processes arrive, the results are the same", "[hosting]") {
  const std::uint64_t delays = GENERATE(1, 2, 3);
  const int processes = GENERATE(2, 3);
  const std::size_t length = GENERATE(100u, 9001u);  // eager, and by rendezvous
  const auto sum = [&](comm::Worker& worker) {
    std::vector<float> data = contribution(worker.rank(), length);
    for (int i = 0; i < 3; ++i) (*comm::make_allreduce("ring"))(worker.comm(), data);
    return data;
  };
  Arrays found(5);
  share(
      5, processes, [&](comm::Worker& worker) { found[static_cast<std::size_t>(worker.rank())] = sum(worker); }, delays);
  CHECK(found == simulated(5, sum));
}

TEST_CASE("workers of several processes that wait for each other are told so", "[hosting]") {
  CHECK_THROWS_WITH(run_threads(2,
                                [](Communicator& process) {
                                  hosting::run(2, {.processes = &process, .stall_s = 0.2}, [](comm::Worker& worker) {
                                    float value = 0;
                                    worker.comm().receive(1 - worker.rank(), 0, one(value));
                                  });
                                }),
                    "for 0.2 s nothing has happened, while worker 0 waits for a message from worker 1");
}

TEST_CASE("windows between workers of several processes are refused in one sentence", "[hosting]") {
  CHECK_THROWS_AS(share(2, 2, [](comm::Worker& worker) { worker.comm().open_window(1, 1); }), core::ConfigError);
}

TEST_CASE("libraries of processes are refused in one sentence", "[hosting]") {
  CHECK_THROWS_AS(host(2,
                       [](comm::Worker& worker) {
                         std::vector<float> data(3);
                         worker.comm().library_routine(comm::Library::transport, comm::Operation::allreduce, data, data);
                       }),
                  core::ConfigError);
}
