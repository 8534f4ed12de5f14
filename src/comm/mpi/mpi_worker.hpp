#pragma once

#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/real_worker.hpp"

namespace paragrad::comm {

/// An MPI rank. Its tasks run on a separate thread over a second communicator, and a service on another thread over the same
/// one. Construction and destruction are collective, as they create and free the second communicator; launch and serve are
/// not. If MPI grants less than MPI_THREAD_MULTIPLE, tasks and services run when they are joined.
///
/// The destructor waits for pending tasks and services (errors that were never joined are lost), except while an exception
/// unwinds: then their waits fail at once.
class MpiWorker : public RealWorker {
 public:
  /// session: required if deaths may be survived.
  explicit MpiWorker(MpiCommunicator& communicator, MpiSession* session = nullptr);
  ~MpiWorker() override;

  void launch(Task task) override;
  void join() override;
  void serve(Task task) override;
  void join_service() override;
  bool attempt(Task task, double limit_s, Steps steps) override;
  void abandon_tasks() noexcept override;

  /// The last call of a worker whose work is done. Returns whether MPI can be finalised; if not (a worker is gone, or a
  /// thread is stuck in an attempt that hangs), call MpiSession::leave. Returns true at once if neither is possible;
  /// otherwise it is collective for the remaining workers. Dropped workers of this node that are still running are killed.
  bool part();

 protected:
  Communicator& task_comm() override { return channel(); }

 private:
  class Lane;

  MpiCommunicator& channel();
  bool exchange_farewells(bool in_common);

  MpiCommunicator& communicator_;
  MpiCommunicator channel_;
  MpiSession* session_;
  bool attempted_ = false;
  bool lost_a_thread_ = false;
  std::unique_ptr<Lane> tasks_;    // made at the first launch
  std::unique_ptr<Lane> service_;  // made at the first serve
};

}  // namespace paragrad::comm
