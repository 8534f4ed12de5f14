#include "strategies/parameter_server/window_link.hpp"

#include <utility>

namespace paragrad::strategies {

using Lock = comm::Window::Lock;

WindowLink::WindowLink(int worker, int workers, int first_server, std::vector<core::Range> shards, double timeout_s,
                       comm::Window& window)
    : MessageLink(worker, first_server, std::move(shards), timeout_s),
      window_(window),
      posted_(this->shards().size()),
      fetches_(this->shards().size()) {
  for (const core::Range shard : this->shards()) layouts_.emplace_back(shard.size(), workers);
}

void WindowLink::push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
                      std::span<const float> gradient) {
  wait_until_taken_in(comm);
  for (std::size_t i = 0; i < shards().size(); ++i) {
    Request request = this->request(Request::Kind::push, versions[i]);
    request.step = step;
    announce(i, request, shards()[i].of(gradient));
  }
}

void WindowLink::fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) {
  std::vector<AsFloats<WindowState>> came(shards().size());
  wait_until_taken_in(comm);
  for (std::size_t i = 0; i < shards().size(); ++i) {
    window_.lock(server(i), Lock::shared);
    window_.get(server(i), layout(i).state_at(), came[i].floats);
    if (!shards()[i].empty()) window_.get(server(i), layout(i).parameters_at(), shards()[i].of(parameters));
  }
  for (std::size_t i = 0; i < shards().size(); ++i) {
    window_.unlock(server(i));
    const WindowState state = came[i].value();
    versions[i] = state.version;
    fetches_[i].push_back({state.done, state.version, worker()});
  }
}

// Other requests are also written into the worker's slot; their payloads are messages.
void WindowLink::post(comm::Communicator& comm, std::size_t shard, const Request& request) {
  wait_until_taken_in(comm);
  announce(shard, request, {});
}

bool WindowLink::post_ping(comm::Communicator& comm, std::size_t shard) {
  post(comm, shard, request(Request::Kind::ping));
  return true;
}

void WindowLink::announce(std::size_t shard, const Request& request, std::span<const float> gradient) {
  const AsFloats<Request> head(request);
  window_.lock(server(shard), Lock::shared);
  window_.put(server(shard), layout(shard).request_at(worker()), head.floats);
  if (!gradient.empty()) window_.put(server(shard), layout(shard).gradient_at(worker()), gradient);
  window_.unlock(server(shard));
  const std::uint64_t ticket = window_.fetch_add(server(shard), WindowLayout::tickets, 1);
  window_.fetch_add(server(shard), layout(shard).holder_of(ticket), static_cast<std::uint64_t>(worker()) + 1);
  ++posted_[shard];
}

// Waits for all servers: then a worker's actions at different servers happen in its program order, as with messages.
void WindowLink::wait_until_taken_in(comm::Communicator& comm) {
  for (std::size_t i = 0; i < shards().size(); ++i) {
    const std::size_t counter = layout(i).taken_in_by(i);
    for (double left_s = timeout_s(); !window_.await_counter_for(counter, posted_[i], look_every_s());) {
      left_s -= look_every_s();
      if (left_s <= 0 || comm.membership().is_gone(server(i))) give_up(i);
    }
  }
}

void WindowLink::hand_in(comm::Communicator& comm) {
  for (std::size_t i = 0; i < shards().size(); ++i) {
    post(comm, i, request(Request::Kind::hand_in));
    send_list(comm, server(i), content_tag, std::exchange(fetches_[i], {}));
    receive_reply(comm, i);
  }
}

}  // namespace paragrad::strategies
