#pragma once

#include <vector>

#include "comm/window.hpp"
#include "strategies/parameter_server/service.hpp"
#include "strategies/parameter_server/window_layout.hpp"

namespace paragrad::strategies {

/// A server with a window from which workers read parameters and into which they write gradients (Algorithm 4 of Ma's
/// slides: MPI_Get, and MPI_Put instead of its MPI_Accumulate, as an optimiser with momentum must see each gradient).
///
/// A worker writes a request and its gradient into its own slot, draws a ticket and writes its number into the counter that
/// the server reads for the holder of that ticket. The server serves tickets in order, under an exclusive lock on its own
/// window so that version and parameters change together, and increments the worker's counter of requests taken in. Other
/// requests arrive the same way; their payloads, and replies, are messages.
class WindowService : public Service {
 public:
  /// index: of the server. The shard's parameters lie in the window.
  WindowService(Server& server, double timeout_s, comm::Window& window, const WindowLayout& layout, std::size_t index);

 private:
  std::optional<Request> receive_within(comm::Communicator& comm, double limit_s) override;
  void serve(comm::Communicator& comm, const Request& request) override;
  bool receive_gradient(comm::Communicator& comm, int worker) override;
  void confirm(const Request& request) { window_.fetch_add(request.worker, layout_.taken_in_by(index_), 1); }

  comm::Window& window_;
  WindowLayout layout_;
  std::size_t index_;
  std::uint64_t ticket_ = 0;         // the next
  std::vector<std::uint64_t> seen_;  // last values of the holder counters
};

}  // namespace paragrad::strategies
