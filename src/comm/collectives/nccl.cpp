#include "comm/collectives/nccl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/library_routine.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::comm {
namespace {

constexpr double us = 1e-6, gigabyte = 1e9;

enum Protocol { ll, ll128, simple };
constexpr std::array protocol_names{"LL", "LL128", "Simple"};
using PerProtocol = std::array<double, 3>;
using PerSize = std::array<double, 3>;  // of one node, two, more

// All constants: NCCL, src/graph/tuning.cc, as of 5067397c2676 (2.27).

constexpr PerProtocol ring_base_us{6.6, 14.0, 8.4}, tree_base_us{6.8, 14.0, 8.4};

/// Latency of a step.
struct Hardware {
  PerProtocol ring_us, tree_us;
};
constexpr Hardware nvlink{{0.6, 1.9, 3.4}, {0.6, 1.25, 4.0}}, pci{{1.0, 2.5, 5.7}, {1.0, 1.9, 4.0}},
    network{{2.7, 4.0, 14.0}, {5.0, 8.5, 14.0}};
constexpr double nvls_us = 25, nvls_tree_network_us = 20.9;

/// GB/s per channel; of LL in all channels on one node.
struct Limits {
  double ll;
  double ring_ll128;
  PerSize tree_ll128, tree, nvls_tree;
  double nvls_efficiency;
};

const Limits& limits_of(NcclFacts::Generation generation) {
  static constexpr std::array<Limits, 4> all{{
      {39.0, 20.0, {20.0, 20.0, 20.0}, {26.5, 18.5, 10.0}, {26.5, 18.5, 10.0}, 0},
      {87.7, 20.0, {20.0, 20.0, 20.0}, {24.0, 23.6, 17.8}, {24.0, 23.6, 17.8}, 0},
      {141.0, 36.7, {36.7, 36.7, 29.0}, {38.7, 41.4, 36.0}, {0, 57.7, 45.5}, 0.85},
      {282.0, 40.0, {55.6, 31.67, 20.0}, {70.0, 42.8, 24.0}, {0, 96.0, 80.0}, 0.74},
  }};
  return all[static_cast<std::size_t>(generation)];
}

/// GB/s of LL in all channels over two nodes, and over more; by processor.
struct BetweenNodes {
  double two, more, step_overhead_us;
};
constexpr BetweenNodes with_intel{39.0, 20.4, 1}, with_amd{22.5, 19.0, 2};
constexpr double fewest_for_nvls = 5;  // workers of a node (stas00/ml-engineering: "> 4 GPUs")

/// Of the bandwidth of a tree, by the length of the array: of 64 bytes, 128, …, 256 MiB.
double tree_share(Protocol protocol, double bytes) {
  static constexpr std::array<std::array<double, 23>, 3> shares{{
      {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
  }};
  if (bytes < 64) return 1;
  const auto doublings = static_cast<std::size_t>(std::log2(bytes / 64));
  return doublings < shares[protocol].size() ? shares[protocol][doublings] : 1;
}

class Model {
 public:
  Model(Operation operation, int workers, double bytes, const Surroundings& where)
      : operation_(operation),
        facts_(where.nccl.value()),
        limits_(limits_of(facts_.generation)),
        workers_(workers),
        nodes_(static_cast<double>((workers + where.workers_per_node - 1) / where.workers_per_node)),
        per_node_(workers_ / nodes_),
        size_(nodes_ == 1   ? 0
              : nodes_ == 2 ? 1
                            : 2),
        bytes_(bytes),
        inside_(where.inside.bytes_per_s / gigabyte),
        between_(where.between.bytes_per_s * where.links_per_node / gigabyte) {}

  NcclChoice fastest() {
    if (operation_ == Operation::all_to_all) return all_to_all();
    for (const Protocol protocol : {ll, ll128, simple}) {
      if (protocol == ll128 && !facts_.nvlink) continue;
      ring(protocol);
      if (operation_ == Operation::allreduce) tree(protocol);
    }
    if (operation_ == Operation::allreduce && facts_.adds_in_switch && per_node_ >= fewest_for_nvls) in_switch();
    return best_;
  }

 private:
  /// bandwidth: GB/s of the array.
  void consider(const char* algorithm, const char* protocol, double latency_us, double bandwidth, double sent_share) {
    const double time_s = latency_us * us + bytes_ / (bandwidth * gigabyte);
    if (time_s < best_.time_s) best_ = {algorithm, protocol, time_s, sent_share};
  }

  const Hardware& here() const { return facts_.nvlink ? nvlink : pci; }
  const BetweenNodes& between_nodes() const { return facts_.amd ? with_amd : with_intel; }
  double most_of_ll() const { return nodes_ == 1 ? limits_.ll : nodes_ == 2 ? between_nodes().two : between_nodes().more; }

  double network_us(double step_us, Protocol protocol) const {
    return step_us + facts_.network_latency_s / us * (protocol == simple ? 2 : 1);
  }

  void ring(Protocol protocol) {
    const bool both = operation_ == Operation::allreduce, pipelined = operation_ == Operation::broadcast;
    const double steps = pipelined ? workers_ : (both ? 2 : 1) * (workers_ - 1), hops = (both ? 2 : 1) * (nodes_ - 1);
    double bandwidth = nodes_ == 1 ? inside_ : std::min(inside_, between_);
    if (protocol == ll) bandwidth = std::min(bandwidth / 2, most_of_ll());
    if (protocol == ll128) bandwidth = std::min(0.92 * bandwidth, facts_.channels * limits_.ring_ll128);
    const double overhead_us = nodes_ == 1 ? 0 : between_nodes().step_overhead_us * (protocol == simple ? 3 : 1);
    const PerProtocol& between_nodes_us = per_node_ == 1 ? network.tree_us : network.ring_us;
    const double inside_us = std::max(here().ring_us[protocol], overhead_us),
                 between_us = network_us(between_nodes_us[protocol], protocol);
    double latency_us = ring_base_us[protocol];
    latency_us += pipelined ? (nodes_ == 1 ? inside_us : between_us) : (steps - hops) * inside_us + hops * between_us;
    const bool is_long = bytes_ / (facts_.channels * workers_) >= 64;
    if (both && nodes_ > 1 && protocol == simple && is_long)
      latency_us *= facts_.generation == NcclFacts::Generation::volta ? 1.9 : 1.4;
    consider("ring", protocol_names[protocol], latency_us, bandwidth * workers_ / steps, steps / workers_);
  }

  void tree(Protocol protocol) {
    // Two nodes are each other's parent and child, so each direction of a link could carry half of the array. Measured times
    // of two nodes show that from Hopper on, and not before (sim/validation).
    const bool halves = nodes_ == 2 && facts_.generation >= NcclFacts::Generation::hopper;
    double bandwidth = nodes_ == 1 ? inside_ : std::min(inside_, (halves ? 2 : 1) * between_);
    bandwidth = std::min(0.92 * bandwidth, facts_.channels * limits_.tree[size_]);
    if (protocol == ll) bandwidth = std::min(bandwidth / 3.8, most_of_ll());
    if (protocol == ll128)
      bandwidth = std::min(bandwidth * (nodes_ == 1 ? 7.0 / 9 : 120.0 / 128), facts_.channels * limits_.tree_ll128[size_]);
    const double latency_us =
        tree_base_us[protocol] + 2 * ((per_node_ - 1) * here().tree_us[protocol] +
                                      std::floor(std::log2(nodes_)) * network_us(network.tree_us[protocol], protocol));
    consider("tree", protocol_names[protocol], latency_us, bandwidth / 2 * tree_share(protocol, bytes_), 2);
  }

  void in_switch() {
    if (limits_.nvls_efficiency == 0) return;
    const double inside = 2 * inside_ * limits_.nvls_efficiency * (facts_.channels - 1) / facts_.channels;
    const double of_array = workers_ / (2 * (workers_ - 1));
    if (nodes_ == 1) return consider("NVLS", "", nvls_us, inside * of_array, 1);
    const double between = (nodes_ == 2 ? 2 : 1) * between_;
    const double latency_us = nvls_us + 2 * std::floor(std::log2(nodes_)) * network_us(nvls_tree_network_us, simple);
    consider("NVLSTree", "", latency_us, std::min({inside, between, facts_.channels * limits_.nvls_tree[size_]}) * of_array,
             2);
  }

  NcclChoice all_to_all() {
    const double block = bytes_ / workers_, away = workers_ - per_node_;
    const double inside_s = (per_node_ - 1) * block / (inside_ * gigabyte),
                 between_s = away == 0 ? 0 : per_node_ * away * block / (between_ * gigabyte);
    const double step_us = away == 0 ? here().ring_us[simple] : network_us(network.ring_us[simple], simple);
    return {"sends and receives", "", (ring_base_us[simple] + step_us) * us + std::max(inside_s, between_s),
            (workers_ - 1) / workers_};
  }

  Operation operation_;
  NcclFacts facts_;
  const Limits& limits_;
  double workers_, nodes_, per_node_;
  std::size_t size_;
  double bytes_, inside_, between_;  // GB/s
  NcclChoice best_{.time_s = std::numeric_limits<double>::infinity()};
};

}  // namespace

NcclChoice nccl_choice(Operation operation, int workers, double bytes, const Surroundings& where) {
  if (workers == 1 || bytes == 0) return {};
  constexpr double shortest = 1, longest = 1e15;  // bytes: nothing but latency, and bandwidth
  const auto by_model = [&](double length) { return Model(operation, workers, length, where).fastest(); };
  NcclChoice choice = by_model(bytes);
  const NcclFacts::Measured& measured = workers <= where.workers_per_node ? where.nccl->inside : where.nccl->between;
  if (measured.sharpness == 0) {
    if (measured.latency_factor == 1 && measured.bandwidth_factor == 1) return choice;
    const double latency_s = std::min(choice.time_s, by_model(shortest).time_s);
    choice.time_s = measured.latency_factor * latency_s + (choice.time_s - latency_s) / measured.bandwidth_factor;
    return choice;
  }
  const double latency_s = measured.latency_factor * by_model(shortest).time_s,
               transfer_s = by_model(longest).time_s / longest * bytes / measured.bandwidth_factor, p = measured.sharpness;
  const double longer_s = std::max(latency_s, transfer_s), shorter_s = std::min(latency_s, transfer_s);
  choice.time_s = longer_s * std::pow(1 + std::pow(shorter_s / longer_s, p), 1 / p);
  return choice;
}

}  // namespace paragrad::comm

namespace paragrad::comm::collectives {
namespace {

class NcclAllreduce : public LibraryAllreduce {
 public:
  NcclAllreduce() : LibraryAllreduce(Library::device) {}

  std::string explain(const Communicator& comm, std::size_t length) const override {
    const auto where = comm.simulated_time() == nullptr ? std::nullopt : comm.simulated_time()->surroundings();
    if (!where || !where->nccl || comm.size() == 1 || length == 0) return "";
    const NcclChoice choice =
        nccl_choice(Operation::allreduce, comm.size(), static_cast<double>(length * sizeof(float)), *where);
    return core::format("{}{}{}, {} by NCCL's own cost model, which ignores other traffic", choice.algorithm,
                        choice.protocol.empty() ? "" : " with ", choice.protocol,
                        core::format_quantity(choice.time_s, core::Unit::time));
  }
};

template <Operation operation>
void by_parts(Communicator& comm, const Parts&, std::span<float> array) {
  comm.library_routine(Library::device, operation, array, array);
}

}  // namespace

Entry nccl_entry() {
  return {
      .info = {.name = "nccl",
               .summary = "between ranks with one GPU each, NCCL's allreduce, with its own order of additions; in timing "
                          "runs (device meta), the time predicted by NCCL's own cost model, which ignores other traffic, "
                          "on platforms with a section [nccl]",
               .source = "NVIDIA, NCCL 2.27, src/graph/tuning.cc"},
      .allreduce = [](std::string_view) { return std::make_unique<NcclAllreduce>(); },
      .reduce_scatter = by_parts<Operation::reduce_scatter>,
      .all_gather = by_parts<Operation::all_gather>,
      .broadcast = [](Communicator& comm,
                      std::span<float> array) { comm.library_routine(Library::device, Operation::broadcast, array, array); },
      .all_to_all =
          [](Communicator& comm, const AllToAll::Lengths&, std::span<const float> send, std::span<float> receive) {
            comm.library_routine(Library::device, Operation::all_to_all, send, receive);
          },
      .library = Library::device};
}

}  // namespace paragrad::comm::collectives
