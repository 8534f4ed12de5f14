#include "strategies/parameter_server/window_service.hpp"

#include <algorithm>

#include "backend/kernels/copy.hpp"

namespace paragrad::strategies {

using Lock = comm::Window::Lock;

WindowService::WindowService(Server& server, double timeout_s, comm::Window& window, const WindowLayout& layout,
                             std::size_t index)
    : Service(server, timeout_s),
      window_(window),
      layout_(layout),
      index_(index),
      seen_(static_cast<std::size_t>(server.workers())) {}

std::optional<Request> WindowService::receive_within(comm::Communicator& comm, double limit_s) {
  const std::size_t counter = layout_.holder_of(ticket_);
  std::uint64_t& seen = seen_[ticket_ % seen_.size()];
  const auto now = window_.await_counter_for(counter, seen + 1, limit_s);
  if (!now) return std::nullopt;
  const int worker = static_cast<int>(*now - seen) - 1;
  seen = *now;
  ++ticket_;
  AsFloats<Request> request;
  window_.lock(comm.rank(), Lock::shared);
  std::ranges::copy(window_.memory().subspan(layout_.request_at(worker), std::size(request.floats)), request.floats);
  window_.unlock(comm.rank());
  if (request.value().kind != Request::Kind::push) confirm(request.value());
  return request.value();
}

// A concurrent reader waits for the lock, and then finds a matching version and parameters.
void WindowService::serve(comm::Communicator& comm, const Request& request) {
  window_.lock(comm.rank(), Lock::exclusive);
  Service::serve(comm, request);
  const AsFloats<WindowState> state({server().shard().version(), server().done()});
  std::ranges::copy(state.floats, window_.memory().subspan(layout_.state_at()).begin());
  window_.unlock(comm.rank());
  if (request.kind == Request::Kind::push) confirm(request);
}

bool WindowService::receive_gradient(comm::Communicator& comm, int worker) {
  const std::span<float> gradient = server().shard().gradient();
  if (gradient.empty()) return true;
  const std::span<const float> from = window_.memory().subspan(layout_.gradient_at(worker), gradient.size());
  comm.run(backend::Copy{from, gradient});
  return true;
}

}  // namespace paragrad::strategies
