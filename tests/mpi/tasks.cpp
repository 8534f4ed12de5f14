// Under mpiexec -n 2 … 4: communication tasks run beside the worker that launched them. Exits with 1 and says what differs.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
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
    for (auto* data : {&first, &second})
      worker.launch([&allreduce, data](Communicator& comm) { (*allreduce)(comm, *data); });
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

constexpr int request_tag = 1;
constexpr int reply_tag = 2;

std::span<float> one(float& value) { return {&value, 1}; }
std::span<const float> one(const float& value) { return {&value, 1}; }

/// Only the last worker serves; all workers' tasks ask it, while all threads talk over comm() too.
void a_service_answers_the_tasks_of_all_workers(comm::Worker& worker) {
  const int workers = worker.size(), server = workers - 1;
  constexpr int rounds = 50;
  require(worker.serves_beside(), "services run beside");
  std::vector<int> asked(static_cast<std::size_t>(workers));
  if (worker.rank() == server)
    worker.serve([&](Communicator& comm) {
      for (int i = 0; i < rounds * workers; ++i) {
        float request = 0;
        const int client = comm.receive(comm::any_source, request_tag, one(request)).source;
        ++asked[static_cast<std::size_t>(client)];
        request *= 2;
        comm.send(client, reply_tag, one(static_cast<const float&>(request)));
      }
    });
  std::vector<float> replies;
  for (int i = 0; i < rounds; ++i) {
    worker.launch([&, i](Communicator& comm) {
      const float request = static_cast<float>(100 * comm.rank() + i);
      float reply = 0;
      comm.send(server, request_tag, one(request));
      comm.receive(server, reply_tag, one(reply));
      replies.push_back(reply);
    });
    if (i % 10 == 0) comm::barrier(worker.comm());
  }
  worker.join();
  worker.join_service();
  for (int i = 0; i < rounds; ++i)
    require(replies.at(static_cast<std::size_t>(i)) == static_cast<float>(2 * (100 * worker.rank() + i)),
            "each gets its own reply");
  if (worker.rank() == server) require(asked == std::vector<int>(asked.size(), rounds), "all requests were served");
}

void a_wait_with_a_limit_comes_back_without_the_message(comm::Worker& worker) {
  Communicator& comm = worker.comm();
  if (comm.rank() > 1) return;
  float value = 0;
  if (comm.rank() == 0) {
    const auto request = comm.start_receive(1, 7, one(value));
    const double begin_s = comm.now_s();
    require(!comm.wait_for(request, 0), "a limit of nothing only asks");
    require(!comm.wait_for(request, 0.02), "nothing has come");
    require(comm.now_s() - begin_s >= 0.02, "the limit is waited for");
    comm.send(1, 7, std::span<const float>{});
    const auto received = comm.wait_for(request, 30);
    require(received && received->source == 1 && received->bytes == 4 && value == 5, "the message comes within the limit");
  } else {
    comm.receive(0, 7, std::span<float>{});
    const float five = 5;
    const auto request = comm.start_send(0, 7, one(five));
    require(comm.wait_for(request, 30).has_value(), "a send ends within the limit");
  }
}

/// Last, as its worker's waits fail from then on.
void a_service_that_fails_lets_its_worker_fail(comm::Worker& worker) {
  if (worker.rank() != 0) return;
  worker.serve([](Communicator&) -> void { throw std::invalid_argument("the log cannot be written"); });
  worker.launch([](Communicator& comm) { comm.receive(0, reply_tag, std::span<float>{}); });
  const auto told = [&](const auto& wait) -> std::string {
    try {
      wait();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  };
  require(told([&] { worker.join(); }) == "the log cannot be written", "join tells why the task failed");
  require(
      told([&] { worker.comm().receive(1, 9, std::span<float>{}); }).find("the log cannot be written") != std::string::npos,
      "a wait of the worker fails and says why");
  require(told([&] { worker.join_service(); }) == "the log cannot be written", "join_service rethrows");
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
    a_service_answers_the_tasks_of_all_workers(worker);
    a_wait_with_a_limit_comes_back_without_the_message(worker);
    worker.launch([](Communicator& second) { comm::barrier(second); });  // left to the destructor
    worker.serve([](Communicator& second) { second.now_s(); });
    comm::MpiCommunicator another(*device, 30);
    comm::MpiWorker failing(another);
    a_service_that_fails_lets_its_worker_fail(failing);
    if (comm.rank() == 0) std::printf("all of it holds over %d ranks\n", comm.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
