#pragma once

#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/real_worker.hpp"

namespace paragrad::comm {

/// An MPI rank. Its tasks run on a thread of their own over a second communicator, both made at the first launch, which is
/// therefore collective. Where MPI grants less than MPI_THREAD_MULTIPLE they run when they are joined.
///
/// Destruction waits for what is still under way (errors nobody joined are lost), except while an exception unwinds: then
/// the tasks' waits fail at once.
class MpiWorker : public RealWorker {
 public:
  explicit MpiWorker(MpiCommunicator& communicator);
  ~MpiWorker() override;

  void launch(Task task) override;
  void join() override;
  void abandon_tasks() noexcept override;

 private:
  class Beside;
  MpiCommunicator& communicator_;
  std::unique_ptr<Beside> beside_;
};

}  // namespace paragrad::comm
