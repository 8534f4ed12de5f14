#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/cost.hpp"
#include "comm/collectives/hierarchy.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/limits.hpp"
#include "core/units.hpp"

namespace paragrad::comm::collectives {
namespace {

// A message's start-up counts as processor time, as in the model of Thakur, Rabenseifner and Gropp: a worker pays it for
// each message it sends.
constexpr double default_alpha_s = 10e-6;
constexpr double default_bytes_per_s = 6e9;

// As on a processor that also copies messages; a GPU adds even faster, but there it hardly matters.
constexpr double additions_to_bandwidth = 2;

/// Names in order of preference: of equal costs the first wins.
std::vector<std::string> candidates() {
  return {"ring",
          "halving_doubling",
          "butterfly",
          "double_tree",
          "tree",
          "sharded_parameter_server",
          "hierarchical",
          "hierarchical:ring+halving_doubling",
          "hierarchical:ring+butterfly",
          "hierarchical:tree+butterfly",
          "hierarchical:tree+halving_doubling"};
}

/// The links that the choice assumes.
struct Links {
  Wire inside, between;
  int per_node = 1;

  Surroundings of(int workers_per_node) const { return {inside, between, workers_per_node, per_node}; }
};

std::string text_of(const Wire& wire) {
  return core::format("{},{}", core::format_quantity(wire.overhead_s, core::Unit::time),
                      core::format_quantity(wire.bytes_per_s, core::Unit::bandwidth));
}

/// Chooses, for every call, the algorithm whose closed form (collectives/cost.hpp) gives the shortest time for this length,
/// number of workers and workers per node. The choice depends only on these and on constants, so all workers choose alike,
/// under MPI and in the simulator. The constants, a message's start-up (10 us) and the bandwidth of a link (6 GBps), are
/// those of a GPU cluster of the FDR years; `auto:2us,11GBps` overrides them. They also apply inside a node, whose workers
/// share one link to the other nodes; `auto:2us,25GBps,3us,240GBps,4` gives the links inside a node, and the number of links
/// between nodes. Additions take half the time of messages: without them two workers would exchange, and add, whole arrays.
class AutoAllreduce : public Allreduce {
 public:
  explicit AutoAllreduce(const Links& links) : links_(links), names_(candidates()) {
    for (const std::string& name : names_) algorithms_.push_back(make_allreduce(name));
  }

  core::Range owned(Communicator& comm, std::size_t length) const override {
    return chosen(comm, length).owned(comm, length);
  }
  std::string explain(const Communicator& comm, std::size_t length) const override {
    const Choice choice = choose(comm, length, links_);
    const auto time = [](double seconds) { return core::format_quantity(seconds, core::Unit::time); };
    const std::string last =
        choice.next == choice.best ? "" : core::format(", {} would take {}", names_[choice.next], time(choice.next_s));
    return core::format(
        "{} for {} among {} workers, {} per node: {} by its closed form{} (start-up {}, {}){}", names_[choice.best],
        core::format_quantity(static_cast<double>(length * sizeof(float)), core::Unit::bytes), comm.size(),
        comm.workers_per_node(), time(choice.best_s), last, time(links_.between.overhead_s),
        core::format_quantity(links_.between.bytes_per_s, core::Unit::bandwidth), advice(comm, length, choice));
  }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    chosen(comm, data.size()).reduce_scatter(comm, data);
  }
  void do_all_gather(Communicator& comm, std::span<float> data) const override {
    chosen(comm, data.size()).all_gather(comm, data);
  }

  struct Choice {
    std::size_t best = 0, next = 0;  // of the candidates; next: the second best
    double best_s = 0, next_s = 0;
  };

  /// What the platform's own links would choose, as the rest of a sentence; nothing if they choose alike, or are unknown.
  std::string advice(const Communicator& comm, std::size_t length, const Choice& choice) const {
    const SimulatedTime* const simulation = comm.simulated_time();
    const auto found = simulation == nullptr ? std::nullopt : simulation->surroundings();
    if (!found) return {};
    // A start-up counts as processor time, and so does the latency that each step waits for.
    const auto started = [](Wire wire) { return Wire{0, wire.latency_s + wire.overhead_s, wire.bytes_per_s}; };
    const Links links{started(found->inside), started(found->between), found->links_per_node};
    const Choice better = choose(comm, length, links);
    if (better.best == choice.best) return {};
    return core::format("; with the links of this platform {} takes {}: auto:{},{},{}", names_[better.best],
                        core::format_quantity(better.best_s, core::Unit::time), text_of(links.between),
                        text_of(links.inside), links.per_node);
  }

  Choice choose(const Communicator& comm, std::size_t length, const Links& links) const {
    const Surroundings where = links.of(comm.workers_per_node());
    const double added_per_s = additions_to_bandwidth * std::max(links.inside.bytes_per_s, links.between.bytes_per_s);
    Choice choice;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Cost cost =
          cost_of(Operation::allreduce, names_[i], comm.size(), static_cast<double>(length * sizeof(float)), where);
      const double time_s = cost.time_s + static_cast<double>(cost.busiest_additions) / added_per_s;
      if (i == 0 || time_s < choice.best_s) {
        choice.next = choice.best, choice.next_s = choice.best_s;
        choice.best = i, choice.best_s = time_s;
      } else if (choice.next == choice.best || time_s < choice.next_s) {
        choice.next = i, choice.next_s = time_s;
      }
    }
    return choice;
  }

  const Allreduce& chosen(const Communicator& comm, std::size_t length) const {
    return *algorithms_[choose(comm, length, links_).best];
  }

  Links links_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Allreduce>> algorithms_;
};

/// ALPHA,BANDWIDTH of the links between nodes, then, if given, the same of those inside, and how many links a node has.
Links parse_links(std::string_view parameters) {
  std::vector<std::string_view> values;
  for (auto rest = std::optional(parameters); rest;) {
    const std::size_t comma = rest->find(',');
    values.push_back(rest->substr(0, comma));
    rest = comma == std::string_view::npos ? std::nullopt : std::optional(rest->substr(comma + 1));
  }
  if (values.size() != 2 && values.size() != 4 && values.size() != 5)
    throw core::ConfigError(core::format("{} values instead of 2, 4 or 5", values.size()));
  const auto wire = [&](std::size_t at) {
    const Wire found{0, core::parse_quantity(values[at], core::Unit::time),
                     core::parse_quantity(values[at + 1], core::Unit::bandwidth)};
    if (!(found.overhead_s >= 0) || !(found.bytes_per_s > 0))
      throw core::ConfigError("neither may be negative, nor the bandwidth zero");
    return found;
  };
  Links links{wire(0), wire(0)};
  if (values.size() > 2) links.inside = wire(2);
  if (values.size() > 4) {
    const auto count = core::number_of<int>(values[4]);
    if (!count || *count < 1) throw core::ConfigError(core::format("'{}' is not a number of links", values[4]));
    links.per_node = *count;
  }
  return links;
}

std::unique_ptr<Allreduce> make_auto(std::string_view parameters) {
  constexpr Wire usual{0, default_alpha_s, default_bytes_per_s};
  if (parameters.empty()) return std::make_unique<AutoAllreduce>(Links{usual, usual});
  try {
    return std::make_unique<AutoAllreduce>(parse_links(parameters));
  } catch (const core::ConfigError& error) {
    throw core::ConfigError(
        core::format("'auto:{}': give a message's start-up time and a link's bandwidth, like auto:10us,6GBps, then perhaps "
                     "those inside a node and a node's number of links, like auto:2us,25GBps,3us,240GBps,4 ({})",
                     parameters, error.what()));
  }
}

}  // namespace

Entry auto_entry() {
  return {.info = {.name = "auto",
                   .parameter = ":ALPHA,BANDWIDTH",
                   .summary = "the algorithm with the lowest predicted time (closed form) for array length, workers and "
                              "workers per node",
                   .options = core::options_of<NodeOptions>()},
          .allreduce = make_auto};
}

}  // namespace paragrad::comm::collectives
