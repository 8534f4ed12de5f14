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
#include "core/files.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

namespace paragrad::app {
namespace {

/// A user error that all ranks know about, so that no rank waits for another.
struct AgreedMistake {
  std::string text;
};

/// Most errors occur on all ranks: rank 0 prints first, and usually alone.
void let_rank_0_go_first(const comm::MpiSession& session) {
  if (session.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

/// Prints an error of this rank and ends the other ranks too.
[[noreturn]] void fail(comm::MpiSession& session, const std::string& message, int code) {
  let_rank_0_go_first(session);
  print_error(message);
  session.abort(code);
}

/// The same for a fault in a mapped file, with a complete line: nothing may be allocated there.
[[noreturn]] void fail_in_mapping(comm::MpiSession& session, const char* line) {
  let_rank_0_go_first(session);
  std::fputs(line, stderr);
  std::fflush(stderr);
  session.abort(user_error);
}

/// The guard of a killed rank names it and ends all ranks. If it has no guard, the ranks that miss it report.
void wait_for_its_guard() { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }

}  // namespace

int run_as_rank(const std::string& device_name, const std::function<void(comm::Worker&)>& body,
                comm::MpiSession::Deaths deaths, comm::GuardOptions guard) {
  guard.end_code = peer_failure;
  comm::MpiSession session(deaths, guard);
  const MappingFaultEnd on_fault([&](const char* line) { fail_in_mapping(session, line); });
  try {
    const auto device = backend::make_device(device_name);
    comm::MpiCommunicator communicator(*device);
    comm::MpiWorker worker(communicator, &session);
    try {
      body(worker);
    } catch (const AgreedMistake& mistake) {
      if (session.rank() == 0) print_error(mistake.text);
      return user_error;
    }
    if (!worker.part()) session.leave(success);
    return success;
  } catch (const core::ConfigError& error) {
    fail(session, error.what(), user_error);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(session, core::describe(error), user_error);
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

void prepare_all(comm::Communicator& comm, const std::function<void()>& preparation) {
  try {
    comm::agree(comm, preparation);
  } catch (const core::ConfigError& error) {
    throw AgreedMistake{error.what()};
  }
}

}  // namespace paragrad::app
