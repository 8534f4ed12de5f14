#include <algorithm>
#include <memory>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/receive_add.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {
namespace {

/// Every worker is the parameter server of one stripe (Li et al., OSDI 2014, with as many servers as workers): all send
/// their parts of a stripe directly to its server, and the server sends the sum to all. Few steps with little data, but n-1
/// messages per worker and half, which dominate if messages cost processor time.
///
/// Steps     2, each of n-1 successive messages of one stripe: in step k from the worker k ranks ahead, to the one k ranks
///           back, so that no two send to the same worker. A worker sends one at a time and can receive several.
/// Bytes     every worker sends and receives 2 (n-1)/n * data.size_bytes().
/// Order     stripe c, owned by worker c: ((x[c] + x[c+1]) + x[c+2]) + …, ranks modulo n.
class ShardedParameterServerAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override {
    return core::part_of(length, comm.size(), comm.rank());
  }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    const Shards shards(comm, data);
    const Segmentation& cut = comm.segmentation();
    const std::size_t largest = std::min((data.size() + shards.size - 1) / shards.size, cut.segment_floats);
    const std::size_t segments = cut.segments((data.size() + shards.size - 1) / shards.size);
    const std::size_t count = (shards.size - 1) * segments, window = cut.messages_in_flight(largest);
    const auto message = [&](std::size_t k) {
      return ReceiveAdd::Message{shards.ahead(k / segments), cut.segment(shards.mine(), k % segments)};
    };
    ReceiveAdd arrivals(comm, count, largest, message, window);
    Sends sends(comm);
    for (std::size_t added = 0, sent = 0; added < count; ++added) {
      for (; sent < std::min(count, added + window); ++sent) {
        sends.finish();
        const int server = shards.behind(sent / segments);
        sends.start(server, cut.segment(shards.of(server), sent % segments));
      }
      arrivals.add_next();
    }
    sends.finish();
  }

  void do_all_gather(Communicator& comm, std::span<float> data) const override {
    const Shards shards(comm, data);
    const std::size_t largest = (data.size() + shards.size - 1) / shards.size;
    const std::size_t count = shards.size - 1, window = comm.segmentation().messages_in_flight(largest);
    Sends sends(comm);
    std::vector<Request> receives(count);
    for (std::size_t arrived = 0, started = 0; arrived < count; ++arrived) {
      for (; started < std::min(count, arrived + window); ++started) {
        const int server = shards.ahead(started);
        if (!shards.of(server).empty()) receives[started] = comm.start_receive(server, collective_tag, shards.of(server));
        sends.finish();
        sends.start(shards.behind(started), shards.mine());
      }
      if (!shards.of(shards.ahead(arrived)).empty()) comm.wait(receives[arrived]);
    }
    sends.finish();
  }

  struct Shards {
    Shards(const Communicator& comm, std::span<float> all) : data(all), size(comm.size()), rank(comm.rank()) {}

    int ahead(std::size_t k) const { return static_cast<int>((rank + 1 + k) % size); }
    int behind(std::size_t k) const { return static_cast<int>((rank + size - 1 - k) % size); }
    std::span<float> of(int server) const { return core::part_of(data.size(), size, server).of(data); }
    std::span<float> mine() const { return of(static_cast<int>(rank)); }

    std::span<float> data;
    std::size_t size;
    std::size_t rank;
  };
};

Cost sharded_parameter_server_cost(Operation, const CostModel& model) {
  const double stripe = model.bytes / model.workers;
  const int others = model.workers - 1;
  const double alone_s = model.windowed_burst_s(others, stripe);
  const double shared_s =
      model.workers == model.workers_here() ? 0 : model.where.between.latency_s + model.between_nodes_s(stripe);
  return {2,
          2 * count(model.workers) * count(others),
          whole(2 * others * stripe),
          2 * std::max(alone_s, shared_s),
          whole(others * stripe),
          model.workers,
          model.workers};
}

}  // namespace

Entry sharded_parameter_server_entry() {
  return {.info = {.name = "sharded_parameter_server",
                   .summary = "every worker serves one stripe to all others",
                   .source = "Li et al., OSDI 2014",
                   .formula = "allreduce: 2*(L + (N-1)*n/N/B)"},
          .allreduce = make_plain<ShardedParameterServerAllreduce>,
          .cost = sharded_parameter_server_cost};
}

}  // namespace paragrad::comm::collectives
