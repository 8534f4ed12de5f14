#include "app/rank.hpp"

#include <chrono>
#include <new>
#include <thread>

#include "app/command.hpp"
#include "app/mapping_faults.hpp"
#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

namespace paragrad::app {
namespace {

/// All ranks know of the mistake, so that nobody waits for anybody.
struct AgreedMistake {
  std::string text;
};

/// Prints an error that concerns this rank and takes the others along. Most such errors strike all ranks alike: rank 0
/// speaks first, and as a rule alone.
[[noreturn]] void end_all(comm::MpiSession& session, const char* line, int code) {
  if (session.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::fputs(line, stderr);
  std::fflush(stderr);
  session.abort(code);
}

[[noreturn]] void fail(comm::MpiSession& session, const std::string& message, int code) {
  end_all(session, core::format("paragrad: {}\n", message).c_str(), code);
}

/// The guard of a rank that was killed names it and ends all. Where it has none, those who miss it tell.
void wait_for_its_guard() { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }

}  // namespace

int run_as_rank(const std::string& device_name, const std::function<void(comm::Worker&)>& body,
                comm::MpiSession::Deaths deaths, comm::GuardOptions guard) {
  guard.end_code = peer_failure;
  comm::MpiSession session(deaths, guard);
  const MappingFaultEnd on_fault([&](const char* line) { end_all(session, line, user_error); });
  try {
    const auto device = backend::make_device(device_name);
    comm::MpiCommunicator communicator(*device);
    comm::MpiWorker worker(communicator, &session);
    try {
      body(worker);
    } catch (const AgreedMistake& mistake) {
      if (session.rank() == 0) fmt::print(stderr, "paragrad: {}\n", mistake.text);
      return user_error;
    }
    if (!worker.part()) session.leave(success);
    return success;
  } catch (const core::ConfigError& error) {
    fail(session, error.what(), user_error);
  } catch (const comm::PeerGone& error) {
    wait_for_its_guard();
    fail(session, error.what(), peer_failure);
  } catch (const std::bad_alloc&) {
    fail(session, core::out_of_memory(), user_error);
  } catch (const comm::Failure& error) {
    fail(session, error.what(), peer_failure);
  } catch (const std::exception& error) {
    fail(session, core::format("internal error: {}", error.what()), internal_error);
  }
}

void agree(comm::Communicator& comm, const std::function<void()>& preparation) {
  std::string mistake;
  try {
    preparation();
  } catch (const core::ConfigError& error) {
    mistake = error.what();
  }
  if (const std::string first = comm::first_error(comm, mistake); !first.empty()) throw AgreedMistake{first};
}

}  // namespace paragrad::app
