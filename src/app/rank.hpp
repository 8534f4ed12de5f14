#pragma once

#include <functional>
#include <string>

#include "comm/mpi/mpi_session.hpp"
#include "comm/worker.hpp"

namespace paragrad::app {

/// Runs `body` as one rank of an MPI program, as a worker with its own device. An error thrown by `body` is printed and ends
/// the other ranks too. Returns this rank's exit code, or ends the process with it.
/// Call it before this process uses a device.
/// deaths: whether a rank's death may be survived; if so, the worker decides when (Membership::set_expendable).
/// guard: options of the rank's guard; a run ended by the death of a rank returns peer_failure.
int run_as_rank(const std::string& device, const std::function<void(comm::Worker&)>& body,
                comm::MpiSession::Deaths deaths = comm::MpiSession::Deaths::end_all, comm::GuardOptions guard = {});

/// Runs `preparation` on every rank. A ConfigError on any rank ends all with user_error and one line on stderr, from the
/// lowest rank that has an error. Collective; call it inside run_as_rank.
void prepare_all(comm::Communicator& comm, const std::function<void()>& preparation);

}  // namespace paragrad::app
