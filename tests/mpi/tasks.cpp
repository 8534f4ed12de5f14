// Under mpiexec -n 2 … 4: communication tasks run beside the worker that launched them. Exits with 1 and says what differs.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "comm/nonblocking.hpp"
#include "core/format.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;
using comm::Communicator;

namespace {

constexpr std::size_t length = 30000;

void require(bool holds, const std::string& claim) {
  if (!holds) throw std::runtime_error("does not hold: " + claim);
}

std::string hash_of_sum(Communicator& comm, const std::string& algorithm, std::size_t elements) {
  auto data = contribution(comm.rank(), elements);
  (*comm::make_allreduce(algorithm))(comm, data);
  return hash_of(data);
}

/// Both threads run the same collectives on arrays of different lengths at the same time.
void tasks_and_main_thread_communicate_at_once(comm::Worker& worker) {
  for (const auto& algorithm : own_algorithms()) {
    const auto expected_main = hash_of_sum(worker.comm(), algorithm, length);
    const auto expected_task = hash_of_sum(worker.comm(), algorithm, length - 1);
    std::vector<std::string> of_tasks;
    for (int i = 0; i < 10; ++i)
      worker.launch([&](Communicator& comm) { of_tasks.push_back(hash_of_sum(comm, algorithm, length - 1)); });
    for (int i = 0; i < 10; ++i)
      require(hash_of_sum(worker.comm(), algorithm, length) == expected_main, algorithm + " beside tasks has its bits");
    worker.join();
    require(of_tasks == std::vector<std::string>(10, expected_task), algorithm + " in tasks has its bits");
  }
}

void every_allreduce_has_a_nonblocking_form(comm::Worker& worker) {
  for (const auto& algorithm : own_algorithms()) {
    const auto allreduce = comm::make_allreduce(algorithm);
    auto first = contribution(worker.rank(), length), second = contribution(worker.rank(), 7);
    comm::start(worker, *allreduce, first);
    comm::start(worker, *allreduce, second);
    worker.join();
    require(hash_of(first) == hash_of_sum(worker.comm(), algorithm, length), algorithm + " started has its bits");
    require(hash_of(second) == hash_of_sum(worker.comm(), algorithm, 7), algorithm + " started second has its bits");
  }
}

void tasks_run_beside_the_worker_in_order(comm::Worker& worker) {
  std::atomic<int> ended = 0;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i)
    worker.launch([&, i](Communicator& comm) {
      comm::barrier(comm);
      order.push_back(i);
      ++ended;
    });
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (ended < 3 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  require(ended == 3, "tasks end without being joined");
  worker.join();
  require(order == std::vector{0, 1, 2}, "tasks run in the order of launching");
}

void the_first_error_of_a_task_is_joined_and_the_rest_dropped(comm::Worker& worker) {
  int later = 0;
  worker.launch([](Communicator& comm) { comm::barrier(comm); });
  worker.launch([](Communicator&) -> void { throw std::runtime_error("first"); });
  worker.launch([&](Communicator&) { ++later; });
  std::string told;
  try {
    worker.join();
  } catch (const std::runtime_error& error) {
    told = error.what();
  }
  require(told == "first", "join rethrows a task's error");
  worker.join();  // told once
  int after = 0;
  worker.launch([&](Communicator& comm) {
    comm::barrier(comm);
    ++after;
  });
  worker.join();
  require(after == 1, "tasks go on after an error");
}

void clocks_agree(comm::Worker& worker) {
  double of_task_s = 0;
  const double before_s = worker.comm().now_s();
  worker.launch([&](Communicator& comm) { of_task_s = comm.now_s(); });
  worker.join();
  require(before_s <= of_task_s && of_task_s <= worker.comm().now_s(), "a task reads its worker's clock");
}

}  // namespace

int main() {
  comm::MpiSession session;
  try {
    const auto device = backend::make_device("reference");
    comm::MpiCommunicator comm(*device, 30);
    comm::MpiWorker worker(comm);
    require(comm.allows_threads(), "this MPI allows threads");
    comm.set_workers_per_node(2);
    tasks_and_main_thread_communicate_at_once(worker);
    every_allreduce_has_a_nonblocking_form(worker);
    tasks_run_beside_the_worker_in_order(worker);
    the_first_error_of_a_task_is_joined_and_the_rest_dropped(worker);
    clocks_agree(worker);
    worker.launch([](Communicator& second) { comm::barrier(second); });  // left to the destructor
    if (comm.rank() == 0) std::printf("all of it holds over %d ranks\n", comm.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
