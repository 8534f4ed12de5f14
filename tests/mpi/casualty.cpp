// mpiexec -n 3 mpi_casualty <way>: worker 1 ends in the given way in the middle of an endless training, with communication
// tasks under way beside it; death.sh looks at what becomes of the others. Every worker first prints its process id.
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"

using namespace paragrad;

namespace {

void die(const std::string& way, comm::MpiSession& session) {
  if (way == "kill") std::raise(SIGKILL);
  if (way == "crash") std::raise(SIGSEGV);
  if (way == "exit") std::exit(1);
  if (way == "exit_zero") std::exit(0);
  if (way == "throw" || way == "unwind") throw std::runtime_error("the disk is on fire");
  if (way == "abort") {
    std::fprintf(stderr, "enough\n");
    session.abort(3);
  }
}

void train(const std::string& way, comm::MpiSession& session) {
  const auto device = backend::make_device("reference");
  comm::MpiCommunicator comm(*device, way == "hang" ? 1.0 : 300.0);
  comm::MpiWorker worker(comm);
  std::printf("pid %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  const auto allreduce = comm::make_allreduce("ring");
  std::vector<float> data(100'000), beside(100'000);
  const comm::TaskGuard guard(worker);
  const auto launch = [&] { worker.launch([&](comm::Communicator& second) { (*allreduce)(second, beside); }); };
  for (int step = 0;; ++step) {
    launch();
    (*allreduce)(comm, data);
    if (step == 20 && comm.rank() == 1) {
      launch();  // this one nobody else will join
      die(way, session);
      if (way == "hang") pause();
    }
    worker.join();
  }
}

/// As a program should: the error is told before the others are stopped.
void report_and_abort(const std::string& way) {
  comm::MpiSession session;
  try {
    train(way, session);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(1);
  }
}

/// As a program should not: the session is gone before anybody reports.
void unwind(const std::string& way) {
  try {
    comm::MpiSession session;
    train(way, session);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  if (way == "unwind") {
    unwind(way);
  } else {
    report_and_abort(way);
  }
}
