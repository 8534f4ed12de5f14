// The ring in SimGrid's S4U interface. An actor per worker, a mailbox per pair.
//
// SimGrid's options: network model CM02 with the fluid (max-min) sharing of links and all its corrections off, since ours
// has none: latency and bandwidth factors 1, no cross-traffic (acknowledgements that load the way back), no TCP window limit
// (gamma 0), no weight of links by their bandwidth (weight-S 0). Links are shared within a direction, and each direction is
// a link of its own.
#include <ctime>
#include <simgrid/s4u.hpp>

#include "case.hpp"

namespace paragrad::test {
namespace {

namespace sg4 = simgrid::s4u;

constexpr const char* options[] = {"network/model:CM02",     "network/latency-factor:1", "network/bandwidth-factor:1",
                                   "network/crosstraffic:0", "network/TCP-gamma:0",      "network/weight-S:0",
                                   "contexts/factory:boost", "contexts/stack-size:64"};

class Cluster {
 public:
  explicit Cluster(const Case& ring) : ring_(ring), zone_(sg4::create_full_zone("cluster")) {
    for (int rank = 0; rank < ring.workers; ++rank) hosts_.push_back(zone_->create_host(name("worker", rank), 1e9));
    for (int rank = 0; rank < ring.workers; ++rank) connect(rank, (rank + ring.stride) % ring.workers);
    zone_->seal();
  }

  sg4::Host* host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }

 private:
  static std::string name(const char* what, int index) { return what + std::to_string(index); }

  void connect(int from, int to) {
    const int from_node = from / Case::devices_per_node, to_node = to / Case::devices_per_node;
    std::vector<sg4::LinkInRoute> path;
    path.emplace_back(link(name("out", from), Case::device_bytes_per_s, Case::hop_latency_s));
    if (from_node != to_node) {
      path.emplace_back(link(name("nic_out", from_node), Case::nic_bytes_per_s, Case::hop_latency_s));
      if (ring_.spine_bytes_per_s > 0) path.emplace_back(link("spine", ring_.spine_bytes_per_s, 0));
      path.emplace_back(link(name("nic_in", to_node), Case::nic_bytes_per_s, Case::hop_latency_s));
    }
    path.emplace_back(link(name("in", to), Case::device_bytes_per_s, Case::hop_latency_s));
    zone_->add_route(host(from)->get_netpoint(), host(to)->get_netpoint(), nullptr, nullptr, path, false);
  }

  sg4::Link* link(const std::string& name, double bytes_per_s, double latency_s) {
    sg4::Link* found = sg4::Link::by_name_or_null(name);
    return found != nullptr ? found : zone_->create_link(name, bytes_per_s)->set_latency(latency_s)->seal();
  }

  const Case& ring_;
  sg4::NetZone* zone_;
  std::vector<sg4::Host*> hosts_;
};

void take_part(const Case& ring, int rank) {
  const auto mailbox = [](int from, int to) {
    return sg4::Mailbox::by_name(std::to_string(from) + "-" + std::to_string(to));
  };
  sg4::Mailbox* out = mailbox(rank, (rank + ring.stride) % ring.workers);
  sg4::Mailbox* in = mailbox((rank + ring.workers - ring.stride) % ring.workers, rank);
  char content = 0;
  for (int step = 0; step < ring.steps(); ++step) {
    if (const std::int64_t delay = ring.delay_ns(rank, step); delay > 0)
      sg4::this_actor::sleep_for(static_cast<double>(delay) * 1e-9);
    out->put_init(&content, static_cast<std::uint64_t>(ring.stripe_bytes()))->detach();  // the receiver waits for it
    in->get<char>();
  }
}

}  // namespace

Outcome in_simgrid(const Case& ring) {
  int argc = 2;
  char name[] = "simgrid", quiet[] = "--log=root.thresh:warning";
  char* argv[] = {name, quiet, nullptr};
  sg4::Engine engine(&argc, argv);
  for (const char* option : options) sg4::Engine::set_config(option);
  const Cluster cluster(ring);
  for (int rank = 0; rank < ring.workers; ++rank)
    sg4::Actor::create(std::to_string(rank), cluster.host(rank), [&ring, rank] { take_part(ring, rank); });
  const std::clock_t start = std::clock();
  engine.run();
  return {sg4::Engine::get_clock(), static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC};
}

}  // namespace paragrad::test
