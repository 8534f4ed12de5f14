#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// The ranks of an MPI program as workers, over a duplicate of MPI_COMM_WORLD: no message of another part of the program can
/// be mistaken for one of ours. Needs a living MpiSession; constructing and destroying it is collective.
///
/// Wall-clock time. Messages in memory that the host cannot reach travel through buffers of the host's.
/// A wait polls, first without pause, then giving up its core, then with short sleeps, so that more ranks than cores get on.
///
/// stall_s  a wait that lasts longer throws Failure: "worker 1 has waited 300 s for …". Longer than any computation between
///          two messages of a healthy run.
/// Throws   Failure with the peer and MPI's own words; core::ConfigError where this build has no MPI.
class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(backend::Device& device, double stall_s = 300);

  /// A second one beside `main`, with the same clock and patience; messages of the two never meet. `device` serves the
  /// thread that will use it.
  MpiCommunicator(const MpiCommunicator& main, backend::Device& device);

  /// Another thread's seat at the channel of `other`, which has to outlive it; not collective. The two are told apart by
  /// their tags alone, and abandoned together.
  struct SameChannel {};
  MpiCommunicator(const MpiCommunicator& other, backend::Device& device, SameChannel);
  ~MpiCommunicator() override;

  int rank() const override;
  int size() const override;
  Request start_send(int to, int tag, std::span<const std::byte> data) override;
  Request start_receive(int from, int tag, std::span<std::byte> data) override;
  Received wait(Request request) override;
  std::optional<Received> wait_for(Request request, double limit_s) override;
  bool is_gone(int peer) override;
  void take_for_gone(int peer) override;
  bool somebody_is_gone();  ///< of all workers

  /// Kills those of this node that were taken for gone and have not ended of themselves within some seconds. A launcher
  /// would wait for them for ever.
  void end_left_out();

  double now_s() override;  ///< since construction
  void add(std::span<const float> from, std::span<float> to) override;
  void library_allreduce(Library library, std::span<float> data) override;
  std::unique_ptr<Window> open_window(std::size_t floats, std::size_t counters) override;

  /// Whether several threads may communicate at the same time (MPI_THREAD_MULTIPLE), each through a communicator of its own.
  bool allows_threads() const;

  /// From any thread: waits under way, and to come, throw Failure, which says why if a reason is given. For a worker that
  /// ends early.
  void abandon(const std::string& reason = {});

 private:
  void mpi_allreduce(std::span<float> data);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paragrad::comm
