#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/communicator.hpp"
#include "sim/engine/engine.hpp"
#include "sim/messages/carrier.hpp"
#include "sim/messages/mailboxes.hpp"
#include "sim/messages/timeouts.hpp"
#include "sim/network/network.hpp"

namespace paragrad::sim {

class CollectiveInterceptor;

/// Messages between emulated workers: MPI's semantics and the processors' costs, over mailboxes and a network model.
///
/// A message of at most eager_bytes is copied (if it has content, see Device::computes) and sent at once. A longer one
/// (rendezvous) starts when send and receive are both posted and is copied directly from buffer to buffer. With n bytes,
/// latency α between the two workers, times t_s and t_r of send and receive:
///
///   sender     continues at t_s' = t_s + send_overhead + [eager] n / copy_bytes_per_s, then posts the message
///   departure  eager t_s';  rendezvous max(t_s', t_r);  with handshake max(t_s' + α, t_r) + α
///   send done  eager t_s';  rendezvous when the network has taken the data from the sender
///   receiver   continues at max(t_wait, arrival) + receive_overhead + [eager, arrived before t_r] n / copy_bytes_per_s
///
/// An eager message becomes visible to receives from any source when it arrives; a rendezvous message when its request to
/// send arrives, at t_s' + α.
class Transport : private Delivery, private EventHandler {
 public:
  /// interceptor: of collectives, which makes way for messages; may be null.
  Transport(Engine& engine, Network& network, Carrier& carrier, int workers, const Platform::Message& costs,
            CollectiveInterceptor* interceptor = nullptr);

  // The following are for the running fiber.
  comm::Request start_send(int from, int to, int tag, std::span<const std::byte> data);
  comm::Request start_receive(int rank, int from, int tag, std::span<std::byte> data);
  comm::Received wait(comm::Request request);

  /// A transfer that finishes within the limit counts, even in its last instant.
  std::optional<comm::Received> wait_for(comm::Request request, double limit_s);

  /// No message is in flight and no receive is waiting.
  bool idle() const { return under_way_ == 0 && boxes_.empty(); }

 private:
  void arrives(std::uint64_t send, Time at) override;
  void sent(std::uint64_t send, Time at) override;
  void fire(std::uint64_t argument) override;

  void settle();
  void match(Id send, Id receive);
  void deliver(Id send);
  void depart(Id send);
  void remove_if_over(Id send);
  void match_at_end_of(Time instant, int rank);
  Time end_of(const Receive& receive, Time waiting_since) const;
  bool wait_for_send(Id id, Time deadline);
  std::optional<comm::Received> wait_for_receive(Id id, Time deadline);
  void block(Wait reason, Fiber*& waiter, Time& its_deadline, Time deadline, std::uint64_t request);
  void give_up(std::uint64_t request);

  Engine& engine_;
  Network& network_;
  Carrier& carrier_;
  std::int64_t eager_bytes_;
  Time send_overhead_;
  Time receive_overhead_;
  bool handshake_;
  InverseBandwidth copy_;
  Mailboxes boxes_;
  Timeouts timeouts_;
  CollectiveInterceptor* interceptor_;
  std::uint64_t under_way_ = 0;  // messages that are matched or eager and whose arrival time is not yet known
};

}  // namespace paragrad::sim
