#pragma once

#include "comm/window.hpp"
#include "strategies/parameter_server/message_link.hpp"
#include "strategies/parameter_server/window_layout.hpp"

namespace paragrad::strategies {

/// A link over windows (see WindowService): a fetch reads the window under a shared lock without involving the server, so it
/// requires a server that never makes a fetch wait. Fetched parameters include the worker's own pushes.
///
/// Servers do not see fetches; each worker records when it fetched, according to the state in the window, and hands this in
/// before the report, so that the order of the run is as complete as with messages.
class WindowLink : public MessageLink {
 public:
  WindowLink(int worker, int workers, int first_server, std::vector<core::Range> shards, double timeout_s,
             comm::Window& window);

  void push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
            std::span<const float> gradient) override;
  void fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) override;
  void hand_in(comm::Communicator& comm) override;

 private:
  void post(comm::Communicator& comm, std::size_t shard, const Request& request) override;
  bool post_ping(comm::Communicator& comm, std::size_t shard) override;
  void announce(std::size_t shard, const Request& request, std::span<const float> gradient);
  void wait_until_taken_in(comm::Communicator& comm);
  const WindowLayout& layout(std::size_t shard) const { return layouts_[shard]; }

  comm::Window& window_;
  std::vector<WindowLayout> layouts_;
  std::vector<std::uint64_t> posted_;              // requests to each server
  std::vector<std::vector<UnseenFetch>> fetches_;  // from each server
};

}  // namespace paragrad::strategies
