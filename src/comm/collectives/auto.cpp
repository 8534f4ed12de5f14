#include <memory>
#include <string>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/cost.hpp"
#include "comm/collectives/hierarchy.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
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

/// Chooses, for every call, the algorithm whose closed form (collectives/cost.hpp) gives the shortest time for this length,
/// number of workers and workers per node. The choice depends only on these and on two constants, so all workers choose
/// alike, under MPI and in the simulator. The constants, a message's start-up (10 us) and the bandwidth of a link (6 GBps),
/// are those of a GPU cluster of the FDR years; `auto:2us,11GBps` overrides them. They also apply inside a node, whose
/// workers share one link to the other nodes. Additions take half the time of messages: without them two workers would
/// exchange, and add, whole arrays.
class AutoAllreduce : public Allreduce {
 public:
  AutoAllreduce(double alpha_s, double bytes_per_s) : wire_{0, alpha_s, bytes_per_s}, names_(candidates()) {
    for (const std::string& name : names_) algorithms_.push_back(make_allreduce(name));
  }

  core::Range owned(Communicator& comm, std::size_t length) const override {
    return chosen(comm, length).owned(comm, length);
  }
  std::string explain(const Communicator& comm, std::size_t length) const override {
    const Choice choice = choose(comm, length);
    const auto time = [](double seconds) { return core::format_quantity(seconds, core::Unit::time); };
    const std::string last =
        choice.next == choice.best ? "" : core::format(", {} would take {}", names_[choice.next], time(choice.next_s));
    return core::format("{} for {} among {} workers, {} per node: {} by its closed form{} (start-up {}, {})",
                        names_[choice.best],
                        core::format_quantity(static_cast<double>(length * sizeof(float)), core::Unit::bytes), comm.size(),
                        comm.workers_per_node(), time(choice.best_s), last, time(wire_.overhead_s),
                        core::format_quantity(wire_.bytes_per_s, core::Unit::bandwidth));
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

  Choice choose(const Communicator& comm, std::size_t length) const {
    const Surroundings where{wire_, wire_, comm.workers_per_node()};
    Choice choice;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Cost cost =
          cost_of(Operation::allreduce, names_[i], comm.size(), static_cast<double>(length * sizeof(float)), where);
      const double time_s =
          cost.time_s + static_cast<double>(cost.busiest_additions) / (additions_to_bandwidth * wire_.bytes_per_s);
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
    return *algorithms_[choose(comm, length).best];
  }

  Wire wire_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Allreduce>> algorithms_;
};

std::unique_ptr<Allreduce> make_auto(std::string_view parameters) {
  if (parameters.empty()) return std::make_unique<AutoAllreduce>(default_alpha_s, default_bytes_per_s);
  const auto comma = parameters.find(',');
  try {
    if (comma == std::string_view::npos) throw core::ConfigError("two values are needed");
    const double alpha_s = core::parse_quantity(parameters.substr(0, comma), core::Unit::time);
    const double bytes_per_s = core::parse_quantity(parameters.substr(comma + 1), core::Unit::bandwidth);
    if (!(alpha_s >= 0) || !(bytes_per_s > 0)) throw core::ConfigError("neither may be negative, nor the bandwidth zero");
    return std::make_unique<AutoAllreduce>(alpha_s, bytes_per_s);
  } catch (const core::ConfigError& error) {
    throw core::ConfigError(
        core::format("'auto:{}': give a message's start-up time and a link's bandwidth, like auto:10us,6GBps ({})",
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
