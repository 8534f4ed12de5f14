#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/hierarchy.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm::collectives {

void expect_full_nodes(int workers_per_node) {
  if (workers_per_node < 1)
    throw core::ConfigError(
        "the workers do not fill the nodes in rank order, equally many on each: start them so, or set the group size "
        "with `workers-per-node`");
}

int workers_of_group(int workers, int workers_per_node) {
  expect_full_nodes(workers_per_node);
  return workers_per_node >= workers ? workers : std::gcd(workers, workers_per_node);
}

namespace {

/// "tree+ring": the algorithm inside a node and the one between nodes; "" means ring+ring. Throws ConfigError.
struct Hierarchy {
  std::string inner;
  std::string outer;
};

Hierarchy parse_hierarchy(std::string_view parameters) {
  if (parameters.empty()) return {"ring", "ring"};
  const auto plus = parameters.find('+');
  const Hierarchy parts{std::string(parameters.substr(0, plus)),
                        plus == std::string_view::npos ? "" : std::string(parameters.substr(plus + 1))};
  for (const std::string& part : {parts.inner, parts.outer})
    for (const std::string_view no : {"", "native", "nccl", "auto", "hierarchical"})
      if (part == no || part.find_first_of(":+") != std::string::npos)
        throw core::ConfigError(core::format(
            "'hierarchical:{}': give the algorithm inside a node and the one between nodes, like hierarchical:tree+ring "
            "(native, nccl, auto and hierarchical are not allowed)",
            parameters));
  return parts;
}

/// Two allreduces, one inside the nodes and one between them. After the inner reduce_scatter each worker of a node holds the
/// node's sum of some range; the workers with the same index in all nodes sum that range; then the inner all_gather
/// distributes it. With the ring inside, all workers of a node take part in the exchange between nodes, each with its stripe
/// (Horovod's hierarchical allreduce; Sergeev and Del Balso, 2018). With the tree inside, one worker of each node does:
/// reduce inside, any algorithm between the nodes, broadcast inside.
///
/// Groups are nodes of Communicator::workers_per_node or, if that does not divide the number of workers, the largest parts
/// of a node that do (6 workers on nodes of 4: three groups of 2), so that groups are equal and none spans two nodes.
///
/// Steps     those of the inner algorithm over g workers plus those of the outer one over n/g.
/// Bytes     likewise, the outer ones for the range that a worker owns after the inner half: with the ring inside 1/g.
/// Order     the inner algorithm's in every group, then the outer one's over the groups' sums.
class HierarchicalAllreduce : public Allreduce {
 public:
  HierarchicalAllreduce(std::unique_ptr<Allreduce> inner, std::unique_ptr<Allreduce> outer)
      : inner_(std::move(inner)), outer_(std::move(outer)) {}

  core::Range owned(Communicator& comm, std::size_t length) const override {
    Groups groups(comm);
    const core::Range mine = inner_->owned(groups.node, length);
    const core::Range part = outer_->owned(groups.across, mine.size());
    return {mine.begin + part.begin, mine.begin + part.end};
  }
  std::string explain(const Communicator& comm, std::size_t) const override {
    const int group = workers_of_group(comm.size(), comm.workers_per_node());
    return core::format("{} groups of {} workers", comm.size() / group, group);
  }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    Groups groups(comm);
    inner_->reduce_scatter(groups.node, data);
    outer_->reduce_scatter(groups.across, inner_->owned(groups.node, data.size()).of(data));
  }

  void do_all_gather(Communicator& comm, std::span<float> data) const override {
    Groups groups(comm);
    outer_->all_gather(groups.across, inner_->owned(groups.node, data.size()).of(data));
    inner_->all_gather(groups.node, data);
  }

  struct Groups {
    explicit Groups(Communicator& comm)
        : size(workers_of_group(comm.size(), comm.workers_per_node())),
          node(comm, {comm.rank() / size * size, 1, size}),
          across(comm, {comm.rank() % size, size, comm.size() / size}) {}

    int size;
    GroupCommunicator node;
    GroupCommunicator across;
  };

  std::unique_ptr<Allreduce> inner_;
  std::unique_ptr<Allreduce> outer_;
};

/// The inner algorithm in every group; then the outer one, which each owner of a part of the group's sum runs with those in
/// the other groups at the same time as the others, over the node's links.
Cost hierarchical_cost(Operation operation, const CostModel& model) {
  const Hierarchy chosen = parse_hierarchy(model.parameters);
  const Surroundings& where = model.where;
  const int group = workers_of_group(model.workers, where.workers_per_node), groups = model.workers / group;
  const int groups_of_node = std::max(1, model.workers_here() / group);
  const auto one_per_node = [&](const Wire& between) {
    return Surroundings{.inside = where.inside, .between = between, .segmentation = where.segmentation};
  };
  const Cost inside = cost_of(operation, chosen.inner, group, model.bytes, one_per_node(where.inside));
  Surroundings across = one_per_node(where.between);
  across.between.bytes_per_s /= model.turns(inside.owners * groups_of_node);
  const Cost between = cost_of(operation, chosen.outer, groups, model.bytes / inside.parts, across);
  return {inside.steps + between.steps, count(groups) * inside.messages + count(inside.owners) * between.messages,
          inside.busiest_bytes + between.busiest_bytes, inside.time_s + between.time_s,
          inside.busiest_additions + between.busiest_additions};
}

}  // namespace

Entry hierarchical_entry() {
  return {.info = {.name = "hierarchical",
                   .parameter = ":INNER+OUTER",
                   .summary = "one algorithm within nodes and one between them (default: ring+ring)",
                   .options = core::options_of<NodeOptions>()},
          .allreduce = [](std::string_view parameters) -> std::unique_ptr<Allreduce> {
            const Hierarchy parts = parse_hierarchy(parameters);
            return std::make_unique<HierarchicalAllreduce>(make_allreduce(parts.inner), make_allreduce(parts.outer));
          },
          .cost = hierarchical_cost};
}

}  // namespace paragrad::comm::collectives
