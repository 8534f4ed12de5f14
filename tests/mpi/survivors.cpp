// mpiexec -n 3 mpi_survivors <story>: worker 1 kills itself in the middle of an asynchronous training, or what is like one;
// survivors.sh looks at what becomes of the others. Every worker first prints its process id.
//
//   worker       worker 0 serves, worker 1 is a client and dies, worker 2 goes on and all that are left end as they should
//   unexpected   the same, but nobody has said that the others can go on
//   server       worker 1 serves and dies: the others are told so
//   late         worker 1 dies when its work is done and the others are about to part
//   stopped      worker 1 is stopped for good: its guard ends it
//   hangs        worker 1 and its guard are stopped, and the others have left it out: they end it
//   nobody       nobody dies
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>

#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"

using namespace paragrad;
using comm::Communicator;

namespace {

constexpr int request_tag = 1;
constexpr int reply_tag = 2;
constexpr int last_request = 400;

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::span<std::byte> bytes_of(int& value) { return std::as_writable_bytes(std::span(&value, 1)); }
std::span<const std::byte> bytes_of(const int& value) { return std::as_bytes(std::span(&value, 1)); }

/// Until each client has sent its last request, or is gone or taken for it.
void serve(Communicator& comm, bool leaves_out) {
  std::vector<bool> ended(static_cast<std::size_t>(comm.size()));
  ended[static_cast<std::size_t>(comm.rank())] = true;
  int request = 0;
  auto next = comm.start_receive(comm::any_source, request_tag, bytes_of(request));
  int idle = 0;
  while (std::find(ended.begin(), ended.end(), false) != ended.end()) {
    if (const auto received = comm.wait_for(next, 0.1)) {
      comm.send(received->source, reply_tag, bytes_of(static_cast<const int&>(request)));
      if (request == last_request) ended[static_cast<std::size_t>(received->source)] = true;
      next = comm.start_receive(comm::any_source, request_tag, bytes_of(request));
      idle = 0;
    } else {
      if (leaves_out && ++idle > 10) comm.membership().take_for_gone(1);
      for (int client = 0; client < comm.size(); ++client)
        if (!ended[static_cast<std::size_t>(client)] && comm.membership().is_gone(client)) {
          say("the server misses worker " + std::to_string(client));
          ended[static_cast<std::size_t>(client)] = true;
        }
    }
  }
}

void fall_out(const std::string& story) {
  if (story == "worker" || story == "unexpected") std::raise(SIGKILL);
  if (story == "hangs") kill(getppid(), SIGSTOP);
  if (story == "stopped" || story == "hangs") std::raise(SIGSTOP);
}

void ask(Communicator& comm, int server, const std::string& story) {
  for (int request = 1; request <= last_request; ++request) {
    comm.send(server, request_tag, bytes_of(static_cast<const int&>(request)));
    int reply = 0;
    comm.receive(server, reply_tag, bytes_of(reply));
    if (reply != request) throw std::runtime_error("another's reply");
    if (request == 100 && comm.rank() == 1) fall_out(story);
    if (story == "server" || story == "unexpected") usleep(2000);
  }
}

void play(const std::string& story, comm::Worker& worker) {
  const int server = story == "server" ? 1 : 0;
  say("pid " + std::to_string(getpid()));
  comm::barrier(worker.comm());
  worker.membership().set_expendable(story != "unexpected");
  if (worker.rank() == server) {
    worker.serve([&](Communicator& comm) { serve(comm, story == "hangs"); });
    if (story == "server") {
      usleep(200'000);
      std::raise(SIGKILL);
    }
    worker.join_service();
    if (story == "hangs") worker.membership().tell_loss();
  } else {
    worker.launch([&](Communicator& comm) { ask(comm, server, story); });
    worker.join();
  }
  if (story == "late" && worker.rank() == 1) std::raise(SIGKILL);
  say("worker " + std::to_string(worker.rank()) + " has done its work");
}

}  // namespace

int main(int, char** arguments) {
  const std::string story = arguments[1];
  comm::MpiSession session(comm::MpiSession::Deaths::may_be_survived,
                           {.end_code = 4, .advice = "better luck next time", .stop_limit_s = 1});
  try {
    const auto device = backend::make_device("reference");
    comm::MpiCommunicator comm(*device);
    comm::MpiWorker worker(comm, &session);
    play(story, worker);
    if (!worker.part()) session.leave(0);
  } catch (const comm::PeerGone& error) {
    std::fprintf(stderr, "%s\n", error.what());
    usleep(300'000);  // both say it
    session.abort(3);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
