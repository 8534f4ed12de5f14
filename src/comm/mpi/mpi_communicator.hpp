#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// The ranks of an MPI program as workers, over a duplicate of MPI_COMM_WORLD, so that its messages never match those of
/// other parts of the program. Needs a live MpiSession; construction and destruction are collective.
///
/// Wall-clock time. Messages in memory that the host cannot reach are staged in host buffers.
/// A wait polls, first without pause, then yielding its core, then with short sleeps, so that more ranks than cores still
/// make progress.
///
/// stall_s  a longer wait throws Failure: "worker 1 has waited 300 s for …". Must exceed any computation between two
/// messages
///          of a healthy run.
/// Throws   Failure with the peer and MPI's error text; core::ConfigError if this build has no MPI.
class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(backend::Device& device, double stall_s = 300);

  /// A second communicator with the clock and stall limit of `main`; their messages never match. `device` is for the thread
  /// that will use it.
  MpiCommunicator(const MpiCommunicator& main, backend::Device& device);

  /// For another thread on the channel of `other`, which must outlive it; not collective. Only tags separate the messages of
  /// the two, and abandon() applies to both.
  struct SameChannel {
    bool own_traffic = false;  ///< is not counted as the worker's
  };
  MpiCommunicator(const MpiCommunicator& other, backend::Device& device, SameChannel);
  ~MpiCommunicator() override;

  Request start_send(int to, int tag, std::span<const std::byte> data) override;
  Request start_receive(int from, int tag, std::span<std::byte> data) override;
  Received wait(Request request) override;
  std::optional<Received> wait_for(Request request, double limit_s) override;
  bool somebody_is_gone();  ///< any worker

  /// Called with what Membership::set_expendable is told.
  void when_expendable(std::function<void(bool)> action);

  /// Kills the workers of this node that were treated as gone but have not ended by themselves within some seconds. A
  /// launcher would wait for them forever.
  void end_left_out();

  double now_s() override;  ///< since construction
  void library_routine(Library library, Operation operation, std::span<const float> send, std::span<float> data) override;
  std::unique_ptr<Window> open_window(std::size_t floats, std::size_t counters) override;

  int cores() const;  ///< this rank's share of the cores on which the ranks of its node may run; at least 1

  /// Whether several threads may communicate at the same time (MPI_THREAD_MULTIPLE), each through its own communicator.
  bool allows_threads() const;

  /// From any thread: current and future waits throw Failure, with the reason if one is given. For a worker that ends early.
  void abandon(const std::string& reason = {});

 private:
  void mpi_allreduce(std::span<float> data);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paragrad::comm
