#pragma once

#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
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
  explicit MpiWorker(MpiCommunicator& communicator);
  ~MpiWorker() override;

  void launch(Task task) override;
  void join() override;
  void serve(Task task) override;
  void join_service() override;
  bool serves_beside() const override { return communicator_.allows_threads(); }
  void abandon_tasks() noexcept override;

 protected:
  Communicator& task_comm() override { return channel(); }

 private:
  class Lane;

  MpiCommunicator& channel();

  MpiCommunicator& communicator_;
  MpiCommunicator channel_;
  std::unique_ptr<Lane> tasks_;    // made at the first launch
  std::unique_ptr<Lane> service_;  // made at the first serve
};

}  // namespace paragrad::comm
