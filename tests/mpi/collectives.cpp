// Under mpiexec -n 2 … 4: the collectives over MPI give the same bits as over the threads of one process.
// Exits with 1 and says what differs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/operation_programs.hpp"
#include "comm/real_worker.hpp"
#include "comm/thread_communicator.hpp"
#include "core/format.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;
using comm::Communicator;

namespace {

void require(bool holds, const std::string& claim) {
  if (!holds) throw std::runtime_error("does not hold: " + claim);
}

std::string hash_over_threads(const std::string& algorithm, int workers, std::size_t length) {
  std::string hash;
  run_threads(workers, [&](Communicator& comm) {
    auto data = contribution(comm.rank(), length);
    (*comm::make_allreduce(algorithm))(comm, data);
    if (comm.rank() == 0) hash = hash_of(data);
  });
  return hash;
}

void allreduces_have_the_bits_of_threads(Communicator& comm) {
  for (const std::size_t length : {0, 1, 5, 1000, 300000}) {
    for (const auto& algorithm : own_algorithms()) {
      for (int repetition = 0; repetition < 3; ++repetition) {
        auto data = contribution(comm.rank(), length);
        (*comm::make_allreduce(algorithm))(comm, data);
        require(hash_of(data) == hash_over_threads(algorithm, comm.size(), length),
                core::format("{} of {} floats over {} ranks is bit-identical to threads", algorithm, length, comm.size()));
      }
    }
  }
}

void native_sums_up_to_rounding(Communicator& comm) {
  for (const std::size_t length : {0, 1, 300000}) {
    auto ring = contribution(comm.rank(), length);
    auto native = ring;
    (*comm::make_allreduce("ring"))(comm, ring);
    (*comm::make_allreduce("native"))(comm, native);
    for (std::size_t i = 0; i < length; ++i) {
      require(std::abs(ring[i] - native[i]) <= 1.f, "native sums up to rounding");  // summands up to 2^19, 24 bits
    }
  }
}

void operations_give_what_plain_loops_give(Communicator& comm) {
  for (const Served& served : all_served())
    for (const std::size_t length : {0, 1, 5, 1001, 300000})
      for (const bool equal : {true, false}) {
        const Task task{comm.size(), length, equal, whole_number};
        require(outcome_of(comm, served, task) == expected_of(comm.rank(), served.operation, task),
                core::format("{} of {} floats over {} ranks", served.name(), length, comm.size()));
      }
}

void operations_have_the_bits_of_threads(Communicator& comm) {
  for (const Served& served : all_served()) {
    const auto of_one = contribution(0, 1000);
    const Task task{comm.size(), 1000, false, [&](int rank, std::size_t i) { return of_one[(31 * rank + i) % 1000]; }};
    std::vector<float> over_threads;
    run_threads(comm.size(), [&](Communicator& threads) {
      const auto outcome = outcome_of(threads, served, task);
      if (threads.rank() == comm.rank()) over_threads = outcome;
    });
    require(hash_of(outcome_of(comm, served, task)) == hash_of(over_threads),
            core::format("{} over {} ranks is bit-identical to threads", served.name(), comm.size()));
  }
}

void small_agreements_hold(Communicator& comm) {
  double values[] = {1.0 + comm.rank(), 0.5};
  comm::sum_in_rank_order(comm, values);
  require(values[0] == comm.size() * (comm.size() + 1) / 2 && values[1] == 0.5 * comm.size(), "sum_in_rank_order");
  const std::string mine = comm.rank() > 0 ? core::format("trouble at {}", comm.rank()) : "";
  require(comm::first_error(comm, mine) == "trouble at 1", "first_error");
  require(comm::first_error(comm, "").empty(), "no error, no text");
  comm::barrier(comm);
}

void any_source_receives_from_everyone(Communicator& comm) {
  const int mine = comm.rank();
  if (mine != 0) {
    comm.send(0, 7, std::as_bytes(std::span(&mine, 1)));
    return;
  }
  int sum = 0;
  for (int i = 1; i < comm.size(); ++i) {
    int theirs[2] = {-1, -1};  // longer than the message
    const auto received = comm.receive(comm::any_source, 7, std::as_writable_bytes(std::span(theirs)));
    require(received.bytes == sizeof(int) && received.source == theirs[0], "a receive tells source and length");
    sum += theirs[0];
  }
  require(sum == comm.size() * (comm.size() - 1) / 2, "any_source receives from everyone");
}

template <class Error, class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void broken_contracts_are_reported(Communicator& comm, backend::Device& device) {
  const bool first = comm.rank() == 0;
  char byte = 0;
  if (comm.rank() < 2) {
    const auto one = std::as_writable_bytes(std::span(&byte, 1));
    auto request = first ? comm.start_send(1, 8, std::span<const std::byte>(one)) : comm.start_receive(0, 8, one);
    comm.wait(request);
    require(!error_of<std::logic_error>([&] { comm.wait(request); }).empty(), "waiting twice is an error");
  }
  const auto nobody = [&] { comm.send(comm.size(), 8, std::span<const std::byte>()); };
  require(error_of<comm::Failure>(nobody).find(core::format("worker {}: send to worker {}", comm.rank(), comm.size())) == 0,
          "a send to nobody names the peer");

  comm::MpiCommunicator impatient(device, 0.2);
  const auto in_vain = [&] { impatient.receive(0, 9, std::as_writable_bytes(std::span(&byte, 1))); };
  if (comm.rank() == 1) {
    require(error_of<comm::Failure>(in_vain).find("worker 1 has waited 0 s for receive from worker 0") == 0,
            "a stall ends in a failure");
  }
  comm::barrier(comm);
  if (first) impatient.send(1, 9, std::as_bytes(std::span(&byte, 1)));  // so that nothing is left over
  comm::barrier(comm);
}

void too_long_a_message_is_a_failure(Communicator& comm) {
  std::vector<float> data(100);
  if (comm.rank() == 0) comm.send(1, 10, std::span<const float>(data));
  if (comm.rank() == 1) {
    const auto text = error_of<comm::Failure>([&] { comm.receive(0, 10, std::span<float>(data).first(10)); });
    require(text.find("worker 1: receive from worker 0") == 0, "a message longer than its buffer is a failure: " + text);
  }
}

void a_worker_computes_by_running_the_task(Communicator& comm) {
  comm::RealWorker worker(comm);
  int runs = 0;
  worker.compute({}, [&] { ++runs; });
  worker.run_kernels([&](backend::KernelQueue& queue) { runs += &queue == &comm.device(); });
  require(runs == 2 && worker.rank() == comm.rank() && worker.size() == comm.size(), "a worker computes");
}

}  // namespace

int main() {
  require(comm::under_mpiexec(), "the launcher is seen");
  comm::MpiSession session;
  try {
    const auto device = backend::make_device("reference");
    comm::MpiCommunicator comm(*device, 30);
    require(comm.rank() == session.rank() && comm.size() == session.size(), "session and communicator agree");
    require(comm.workers_per_node() == comm.size(), "all ranks share this machine");
    require(std::getenv("UCX_RNDV_THRESH") == nullptr, "messages are copied as fast as can be, where deaths end all");
    comm.set_workers_per_node(2);  // as among the threads
    allreduces_have_the_bits_of_threads(comm);
    native_sums_up_to_rounding(comm);
    operations_give_what_plain_loops_give(comm);
    operations_have_the_bits_of_threads(comm);
    small_agreements_hold(comm);
    any_source_receives_from_everyone(comm);
    broken_contracts_are_reported(comm, *device);
    too_long_a_message_is_a_failure(comm);
    a_worker_computes_by_running_the_task(comm);
    comm::barrier(comm);
    if (comm.rank() == 0) std::printf("all of it holds over %d ranks\n", comm.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
