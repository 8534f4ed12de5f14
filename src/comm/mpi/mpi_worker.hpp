#pragma once

#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/real_worker.hpp"

namespace paragrad::comm {

/// An MPI rank. Its tasks run on a thread of their own over a second communicator, and a service on another thread over the
/// same. Constructing and destroying a worker is collective: that makes and ends the second communicator; launch and serve
/// are not. Where MPI grants less than MPI_THREAD_MULTIPLE, tasks and services run when they are joined.
///
/// Destruction waits for what is still under way (errors nobody joined are lost), except while an exception unwinds: then
/// the waits of tasks and service fail at once.
class MpiWorker : public RealWorker {
 public:
  /// session: where deaths may be survived.
  explicit MpiWorker(MpiCommunicator& communicator, MpiSession* session = nullptr);
  ~MpiWorker() override;

  void launch(Task task) override;
  void join() override;
  void serve(Task task) override;
  void join_service() override;
  bool serves_beside() const override;
  bool attempt(Task task, double limit_s) override;
  void set_expendable(bool expendable) override;
  void abandon_tasks() noexcept override;

  /// The last call of a worker whose work is done: whether MPI can be ended in common. Otherwise (a worker is gone, or has
  /// left a thread in an attempt that hangs) the session is to be left. Where neither can be, it returns true at once; else
  /// it is collective for those who are still there. Workers of this node that were left out and have not ended are killed.
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
