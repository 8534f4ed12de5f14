#include "comm/collectives/cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "comm/collectives/binary_tree.hpp"
#include "comm/collectives/hierarchy.hpp"
#include "comm/collectives/segments.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {
namespace {

using namespace collectives;

int log2_floor(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }
int log2_ceil(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

/// The formulas for one number of workers and one length. n, B, λ, o in the comments: bytes, bandwidth, latency, overhead.
class Model {
 public:
  Model(int workers, double bytes, const Surroundings& where) : workers_(workers), bytes_(bytes), where_(where) {}

  Cost ring() const { return ring(2, 1); }

  // Each stripe goes through all hops, one after the other; and the slowest link carries all stripes, one after the other.
  // sums: the halves with additions.
  Cost ring(int halves, int sums) const {
    const double stripe = bytes_ / workers_;
    const int steps = halves * (workers_ - 1), here = std::min(where_.workers_per_node, workers_);
    const Wire& slow = wire(farthest());
    const double hop_s = workers_ == here ? message(slow, stripe)
                                          : (message(slow, stripe) + (here - 1) * message(where_.inside, stripe)) / here;
    return {steps, count(workers_) * steps, whole(steps * stripe), steps * std::max(hop_s, each(slow, stripe)),
            whole(sums * (workers_ - 1) * stripe)};
  }

  /// The way back alone: as many messages as on the way in, without additions; the worker that sends most sends then.
  static Cost half(const Cost& both) { return {both.steps / 2, both.messages / 2, both.busiest_bytes, both.time_s / 2, 0}; }

  // Worker 0 has ceil(log2 n) children; the longest path has floor(log2 n) steps.
  Cost tree() const {
    const double segment = std::min(bytes_, segment_bytes);
    double turn_s = 0;  // the root's link carries a segment of every child before the next one
    for (int level = 0; level < log2_ceil(workers_); ++level)
      turn_s += std::max(each(wire(1 << level), segment), message(wire(1 << level), segment) / messages_in_flight);
    Cost cost = binomial(segment);
    cost.time_s += 2 * (bytes_ / segment - 1) * turn_s;
    return cost;
  }

  Cost binomial() const { return binomial(bytes_); }

  Cost butterfly() const {
    const int rounds = log2_floor(workers_), outside = workers_ - active();
    Cost cost = folded(bytes_);
    for (int k = 0; k < rounds; ++k) cost.time_s += exchange(1 << k, bytes_);
    // Workers far from the folded ones are a step ahead and need no answer: fewer latencies, but as many messages.
    const int all_steps = cost.steps + rounds;
    cost.steps = outside == 0 ? rounds : 1 + std::max(rounds, 1 + log2_ceil(outside));
    cost.time_s -= (all_steps - cost.steps) * wire(active()).latency_s;
    cost.messages += count(active()) * rounds;
    cost.busiest_bytes += whole(rounds * bytes_);
    cost.busiest_additions += whole(rounds * bytes_);
    return cost;
  }

  Cost halving_doubling() const {
    const int rounds = log2_floor(workers_);
    Cost cost = folded(bytes_);
    double half = bytes_;
    for (int k = 0; k < rounds; ++k) cost.time_s += 2 * exchange(1 << k, half /= 2);
    cost.steps += 2 * rounds;
    cost.messages += 2 * count(active()) * rounds;
    cost.busiest_bytes += whole(2 * (bytes_ - half));
    cost.busiest_additions += whole(bytes_ - half);
    return cost;
  }

  Cost parameter_server() const {
    return {workers_ > 1 ? 2 : 0, 2 * count(workers_ - 1), whole((workers_ - 1) * bytes_),
            2 * burst(wire(farthest()), workers_ - 1, bytes_, short_messages(bytes_), 1), whole((workers_ - 1) * bytes_)};
  }

  Cost sharded_parameter_server() const {
    const double stripe = bytes_ / workers_;
    const int others = workers_ - 1;
    const double alone_s = burst(wire(farthest()), others, stripe, short_messages(stripe), 1);
    const double shared_s = where_.between.bytes_per_s > 0 ? between_nodes_s(stripe) : 0;
    return {workers_ > 1 ? 2 : 0, 2 * count(workers_) * others, whole(2 * others * stripe), 2 * std::max(alone_s, shared_s),
            whole(others * stripe)};
  }

  // All workers that hold something send at the same time in the scatter, as all do in the exchanges.
  Cost scatter_all_gather() const {
    const int rounds = log2_floor(workers_);
    const Cost last = half(folded(bytes_));
    Cost cost{2 * rounds + last.steps, count(active() - 1) + count(active()) * rounds + last.messages, 0, last.time_s};
    double part = bytes_;
    for (int k = 0; k < rounds; ++k) {
      part /= 2;
      cost.time_s += 2 * exchange(1 << k, part);
    }
    cost.busiest_bytes = whole(2 * (bytes_ - part)) + last.busiest_bytes;
    return cost;
  }

  Cost direct(int sums = 0) const {
    const double part = bytes_ / workers_;
    const int others = workers_ - 1;
    constexpr double all_in_flight = std::numeric_limits<double>::infinity();  // all receives are posted beforehand
    const double alone_s = burst(wire(farthest()), others, part, all_in_flight, 1);
    const double shared_s = workers_ > where_.workers_per_node ? where_.between.latency_s + between_nodes_s(part) : 0;
    return {1, count(workers_) * others, whole(others * part), std::max(alone_s, shared_s), whole(sums * others * part)};
  }

  // Parts that wrap around the end of the array are two messages: of c parts those of c - 1 workers.
  Cost bruck(int sums) const {
    const double part = bytes_ / workers_;
    Cost cost{log2_ceil(workers_), 0, whole((workers_ - 1) * part), 0, whole(sums * (workers_ - 1) * part)};
    for (int distance = 1; distance < workers_; distance *= 2) {
      const int parts = std::min(distance, workers_ - distance);
      cost.messages += count(workers_) + count(parts - 1);
      cost.time_s += exchange(distance, parts * part);
    }
    return cost;
  }

  Cost bruck_all_to_all() const {
    Cost cost{log2_ceil(workers_), count(workers_) * log2_ceil(workers_)};
    double sent = 0;
    for (int bit = 1; bit < workers_; bit *= 2) {
      int blocks = 0;
      for (int distance = bit; distance < workers_; ++distance) blocks += (distance & bit) != 0 ? 1 : 0;
      cost.time_s += exchange(bit, blocks * bytes_ / workers_);
      sent += blocks * bytes_ / workers_;
    }
    cost.busiest_bytes = whole(sent);
    return cost;
  }

  Cost double_tree() const {
    if (workers_ == 1) return {};
    const int depth = log2_ceil(workers_);
    const double half = bytes_ / 2;
    const auto floats = static_cast<std::size_t>(std::ceil(half / sizeof(float)));
    const double segment = std::min(half, static_cast<double>(sizeof(float) * double_tree_segment(floats, workers_)));
    const double others = half / segment - 1;
    // An inner worker receives two segments, one of each child, in the time of two; only the root has a single child.
    double fill_s = 0, turn_s = 0;
    for (int level = 0; level < depth; ++level) {
      const Wire& link = wire(1 << level);
      // Two inner workers of a node may communicate with other nodes, one of them with both its children.
      const int shared = where_.workers_per_node > 1 && 1 << level >= where_.workers_per_node ? 3 : 2;
      fill_s += link.latency_s + (level + 1 < depth ? shared : 1) * each(link, segment);
      turn_s = std::max(turn_s, (depth > 1 ? shared : 1) * each(link, segment));
    }
    const double halves = std::min(workers_, 4);  // up in both trees, down to two children in one
    return {2 * depth, 4 * count(workers_ - 1), whole(halves * half), 2 * (fill_s + others * turn_s),
            whole(std::min(workers_ - 1, 2) * half)};
  }

 private:
  static constexpr double segment_bytes = static_cast<double>(segment_floats * sizeof(float));

  static std::uint64_t count(int n) { return static_cast<std::uint64_t>(n); }
  static std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); }
  static double each(const Wire& link, double bytes) { return link.overhead_s + bytes / link.bytes_per_s; }
  static double message(const Wire& link, double bytes) { return link.latency_s + each(link, bytes); }

  /// Time of `messages` messages on one worker's link, with `in_flight` at a time; `flows` workers share the link.
  static double burst(const Wire& link, int messages, double bytes, double in_flight, int flows) {
    if (messages == 0) return 0;
    const double one = each(link, flows * bytes), next = std::max(link.overhead_s, flows * bytes / link.bytes_per_s);
    return link.latency_s + one + (messages - 1) * std::max(next, (link.latency_s + one) / in_flight);
  }
  static double short_messages(double bytes) {
    return static_cast<double>(short_messages_in_flight(static_cast<std::size_t>(bytes / sizeof(float))));
  }

  Cost binomial(double bytes) const {
    const int children = log2_ceil(workers_), depth = log2_floor(workers_);
    Cost cost{2 * depth, 2 * count(workers_ - 1), whole(children * bytes_), 0, whole(children * bytes_)};
    for (int level = 0; level < depth; ++level) cost.time_s += 2 * message(wire(1 << level), bytes);
    if (children > depth) cost.time_s += 2 * each(wire(active()), bytes);
    return cost;
  }

  int active() const { return 1 << log2_floor(workers_); }
  int farthest() const { return workers_ > where_.workers_per_node ? where_.workers_per_node : 1; }
  const Wire& wire(int distance) const { return distance < where_.workers_per_node ? where_.inside : where_.between; }

  /// All workers exchange with those `distance` away at the same time.
  double exchange(int distance, double bytes) const {
    const int flows = distance < where_.workers_per_node ? 1 : std::min(where_.workers_per_node, workers_ - distance);
    return message(wire(distance), flows * bytes);
  }

  /// Cost of the workers beyond the last power of two: their array goes to a partner beforehand and comes back afterwards.
  Cost folded(double bytes) const {
    const int outside = workers_ - active();
    if (outside == 0) return {};
    const int flows = active() < where_.workers_per_node ? 1 : std::min(where_.workers_per_node, outside);
    return {2, 2 * count(outside), whole(bytes), 2 * message(wire(active()), flows * bytes), whole(bytes)};
  }

  /// Every worker of a node sends a stripe to every worker of the other nodes.
  double between_nodes_s(double stripe) const {
    const int here = std::min(where_.workers_per_node, workers_);
    return here * (workers_ - here) * stripe / where_.between.bytes_per_s;
  }

  int workers_;
  double bytes_;
  Surroundings where_;
};

Cost hierarchical(std::string_view parameters, int workers, double bytes, const Surroundings& where);

core::ConfigError unknown(Operation operation, std::string_view algorithm) {
  return core::ConfigError(core::format("no closed form is known for {} '{}'", name_of(operation), algorithm));
}

Cost cost_in(std::string_view algorithm, int workers, double bytes, const Surroundings& where) {
  if (workers == 1 || bytes == 0) return {};
  const Model model(workers, bytes, where);
  if (algorithm == "ring") return model.ring();
  if (algorithm == "tree") return model.tree();
  if (algorithm == "binomial") return model.binomial();
  if (algorithm == "butterfly") return model.butterfly();
  if (algorithm == "halving_doubling") return model.halving_doubling();
  if (algorithm == "parameter_server") return model.parameter_server();
  if (algorithm == "sharded_parameter_server") return model.sharded_parameter_server();
  if (algorithm == "double_tree") return model.double_tree();
  const auto colon = std::min(algorithm.find(':'), algorithm.size());
  if (algorithm.substr(0, colon) == "hierarchical")
    return hierarchical(algorithm.substr(std::min(colon + 1, algorithm.size())), workers, bytes, where);
  throw unknown(Operation::allreduce, algorithm);
}

/// The inner algorithm in every group; then the outer one, which `sharing` workers of a group run concurrently, each on its
/// part of the array, over the node's single link.
Cost hierarchical(std::string_view parameters, int workers, double bytes, const Surroundings& where) {
  const Hierarchy parts = parse_hierarchy(parameters);
  const int group = workers_of_group(workers, where.workers_per_node), groups = workers / group;
  const bool one_owner = parts.inner == "tree" || parts.inner == "binomial" || parts.inner == "parameter_server";
  const bool all_own = parts.inner == "butterfly";
  const int owners = one_owner || group == 1             ? 1
                     : parts.inner == "halving_doubling" ? 1 << log2_floor(group)
                     : parts.inner == "double_tree"      ? 2
                                                         : group;
  const double owned = all_own ? bytes : bytes / owners;
  const int per_node = std::max(1, std::min(where.workers_per_node, workers) / group);  // groups that share a node
  Surroundings across{where.inside, where.between, 1};
  across.between.bytes_per_s /= (all_own ? group : owners) * per_node;
  const Cost inside = cost_in(parts.inner, group, bytes, {where.inside, where.inside, 1});
  const Cost between = cost_in(parts.outer, groups, owned, across);
  const auto both = static_cast<std::uint64_t>(all_own ? group : owners);
  return {inside.steps + between.steps, static_cast<std::uint64_t>(groups) * inside.messages + both * between.messages,
          inside.busiest_bytes + between.busiest_bytes, inside.time_s + between.time_s,
          inside.busiest_additions + between.busiest_additions};
}

Cost cost_of_other(Operation operation, std::string_view algorithm, const Model& model) {
  const int sums = operation == Operation::reduce_scatter ? 1 : 0;
  const bool in_parts = sums == 1 || operation == Operation::all_gather, exchanges = operation == Operation::all_to_all;
  if (in_parts && algorithm == "ring") return model.ring(1, sums);
  if (in_parts && algorithm == "bruck") return model.bruck(sums);
  if (exchanges && algorithm == "bruck") return model.bruck_all_to_all();
  if ((in_parts || exchanges) && algorithm == "direct") return model.direct(sums);
  if (operation == Operation::broadcast) {
    if (algorithm == "tree") return Model::half(model.tree());
    if (algorithm == "binomial") return Model::half(model.binomial());
    if (algorithm == "scatter_all_gather") return model.scatter_all_gather();
  }
  throw unknown(operation, algorithm);
}

}  // namespace

Cost cost_of(Operation operation, std::string_view algorithm, int workers, std::size_t bytes, const Surroundings& where) {
  const auto length = static_cast<double>(bytes);
  if (operation == Operation::allreduce) return cost_in(algorithm, workers, length, where);
  if (workers == 1 || bytes == 0) return {};
  return cost_of_other(operation, algorithm, Model(workers, length, where));
}

}  // namespace paragrad::comm
