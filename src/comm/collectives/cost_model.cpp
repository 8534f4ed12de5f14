#include "comm/collectives/cost_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace paragrad::comm::collectives {

int log2_floor(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }
int log2_ceil(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }
std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); }

int CostModel::rounds() const { return log2_floor(workers); }
int CostModel::active() const { return 1 << rounds(); }
int CostModel::workers_here() const { return std::min(where.workers_per_node, workers); }

const Wire& CostModel::slowest_wire() const { return workers > where.workers_per_node ? where.between : wire(1); }

double CostModel::turns(int flows) const { return static_cast<double>(flows) / std::min(flows, where.links_per_node); }

double CostModel::exchange_s(int distance, double length) const {
  const int flows = distance < where.workers_per_node ? 1 : std::min(where.workers_per_node, workers - distance);
  return message_s(wire(distance), turns(flows) * length);
}

double CostModel::shift_s(int distance, double length) const {
  const double inside_s = message_s(wire(distance), length);
  if (workers == workers_here()) return inside_s;
  return std::max(inside_s, message_s(where.between, turns(std::min(distance, workers_here())) * length));
}

double CostModel::between_nodes_s(double part) const {
  return turns(workers_here()) * (workers - workers_here()) * part / where.between.bytes_per_s;
}

Cost CostModel::folded() const {
  const int outside = workers - active();
  if (outside == 0) return {};
  return {2, 2 * count(outside), whole(bytes), 2 * exchange_s(active(), bytes), whole(bytes)};
}

double burst_s(const Wire& link, int messages, double bytes, double in_flight) {
  if (messages == 0) return 0;
  const double one = each_s(link, bytes), next = std::max(link.overhead_s, bytes / link.bytes_per_s);
  const double each = messages > in_flight ? std::max(next, (link.latency_s + one) / in_flight) : next;
  return link.latency_s + one + (messages - 1) * each;
}

double CostModel::windowed_burst_s(int messages, double length) const {
  const std::size_t window = where.segmentation.messages_in_flight(static_cast<std::size_t>(length / sizeof(float)));
  return burst_s(slowest_wire(), messages, length, static_cast<double>(window));
}

Cost way_back(const Cost& both) { return {both.steps / 2, both.messages / 2, both.busiest_bytes, both.time_s / 2, 0}; }

Cost binomial_cost(const CostModel& model, double length) {
  const int children = log2_ceil(model.workers), depth = log2_floor(model.workers);  // of worker 0; of the longest path
  const std::uint64_t most = whole(children * model.bytes);
  Cost cost{2 * depth, 2 * count(model.workers - 1), most, 0, most};
  for (int level = 0; level < depth; ++level) cost.time_s += 2 * message_s(model.wire(1 << level), length);
  if (children > depth) cost.time_s += 2 * each_s(model.wire(model.active()), length);
  return cost;
}

}  // namespace paragrad::comm::collectives
