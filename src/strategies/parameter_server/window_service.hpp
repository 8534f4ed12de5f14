#pragma once

#include <vector>

#include "comm/window.hpp"
#include "strategies/parameter_server/service.hpp"
#include "strategies/parameter_server/window_layout.hpp"

namespace paragrad::strategies {

/// A server whose parameters workers read out of its window, and into whose window they write their gradients (Algorithm 4
/// of Ma's slides: MPI_Get, and MPI_Put instead of its MPI_Accumulate, as a rule with momentum must see each gradient).
///
/// A worker writes a request and its gradient into its own place, draws a ticket and writes who it is where the server looks
/// for the holder of that ticket. The server serves tickets in their order, under an exclusive lock of its own window, in
/// which the version changes with the parameters, and counts for the worker what it has taken in. Requests that are no
/// gradients come the same way; what belongs to them, and replies, are messages as ever.
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
  std::vector<std::uint64_t> seen_;  // of the counters for holders
};

}  // namespace paragrad::strategies
