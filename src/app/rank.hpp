#pragma once

#include <functional>
#include <string>

#include "comm/mpi/mpi_session.hpp"
#include "comm/worker.hpp"

namespace paragrad::app {

/// Runs `body` as one rank of an MPI program, as a worker with a device of its own. An error that leaves `body` is
/// printed and ends the other ranks too. Returns the exit code of this rank, or ends the process with it.
/// To be called before this process uses a device.
/// deaths: where they may be survived, the worker says when (Worker::set_expendable).
/// guard: of the rank; a run that the death of a rank ends returns peer_failure.
int run_as_rank(const std::string& device, const std::function<void(comm::Worker&)>& body,
                comm::MpiSession::Deaths deaths = comm::MpiSession::Deaths::end_all, comm::GuardOptions guard = {});

/// Runs `preparation` on every rank. A ConfigError at any of them ends all with user_error and one line on stderr, that of
/// the lowest rank that has one. Collective; to be called inside run_as_rank.
void agree(comm::Communicator& comm, const std::function<void()>& preparation);

}  // namespace paragrad::app
