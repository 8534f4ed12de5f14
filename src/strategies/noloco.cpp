#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/scale.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {
namespace {

struct NoLoCoOptions : comm::CollectiveOptions {
  std::size_t group = 2;
  double momentum = 0.5;  // a
  double rate = 0.7;      // b
  double pull = 0.7;      // c

  void describe(core::OptionList& list) {
    CollectiveOptions::describe(list);
    list.group("Meetings");
    list.number("group-size", group, {.least = 2, .most = 1'000'000}, "workers that meet, drawn anew for each block");
    list.number("group-momentum", momentum, core::below_one, "momentum coefficient of a worker's updates");
    list.number("group-rate", rate, core::above_zero, "weight of the group's mean update");
    list.number("group-pull", pull, core::zero_or_more, "weight of the distance to the group's mean model");
  }
};

/// NoLoCo (Kolehmainen et al., arXiv 2506.10911, 2025): after each block workers meet in groups, pairs by default, that are
/// drawn by (seed, meeting), and nobody waits for all. With a worker's model φ at the last meeting and θ now:
///
///   d = θ - φ;  v = a v + b mean(d) + c (mean(φ) - φ);  φ = φ + v;  θ = φ        means over its group
///
/// Workers that are left over when groups are filled form a smaller one; a single one meets itself. A group of all workers
/// is BMUF of kind cbm with η = a and ζ = b up to rounding (all φ are equal then). The mean of all φ is evaluated and saved;
/// that takes an allreduce, by `collective`. The report has the spread of the models around it.
///
/// Bytes per block: two models to each other member of the group. Memory: eight models besides the parameters.
class NoLoCo : public MeetingStrategy {
 public:
  NoLoCo(const NoLoCoOptions& options, const StrategyContext& context)
      : options_(options), seed_(context.seed), allreduce_(comm::make_allreduce(options.collective)) {}

  Remarks explain(const Extent& extent) const override {
    return explain_collective(options_.collective, *allreduce_, extent);
  }
  void start(comm::Worker& worker, Replica& replica) override;
  std::size_t next_meeting(std::size_t, std::size_t rounds) override { return rounds; }
  void meet(comm::Worker& worker, Replica& replica, const Meeting& at) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;
  Remarks report(comm::Worker& worker) override;
  void describe_state(core::StateView& state) override;

 private:
  std::vector<int> group_of(int rank, int workers) const;
  void add_up(comm::Communicator& comm, const std::vector<int>& group);

  static constexpr int tag = 1;

  NoLoCoOptions options_;
  std::uint64_t seed_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  core::Arena model_;               // φ
  core::Arena momentum_;            // v
  core::Arena own_, other_, sums_;  // [2][parameters]: d and φ, of this worker, of another, and summed over the group
  std::uint64_t meetings_ = 0;
  double spread_ = 0;  // root mean square distance of the models from their mean when last shown, relative to its norm
};

void NoLoCo::start(comm::Worker& worker, Replica& replica) {
  const std::size_t length = replica.parameters.size();
  for (core::Arena* const arena : {&model_, &momentum_}) *arena = worker.device().allocate(length);
  for (core::Arena* const arena : {&own_, &other_, &sums_}) *arena = worker.device().allocate(2 * length);
  meetings_ = 0;
  spread_ = 0;
  worker.run(backend::Copy{replica.parameters, model_.span()});
}

/// In ascending order.
std::vector<int> NoLoCo::group_of(int rank, int workers) const {
  const auto drawn = core::RandomStream(seed_, core::Purpose::groups, static_cast<std::uint32_t>(meetings_))
                         .permutation(static_cast<std::uint32_t>(workers));
  const auto place = std::ranges::find(drawn, static_cast<std::uint32_t>(rank)) - drawn.begin();
  const std::size_t begin = static_cast<std::size_t>(place) / options_.group * options_.group;
  const std::size_t end = std::min(begin + options_.group, drawn.size());
  std::vector<int> group(drawn.begin() + static_cast<std::ptrdiff_t>(begin),
                         drawn.begin() + static_cast<std::ptrdiff_t>(end));
  std::ranges::sort(group);
  return group;
}

/// The sums are taken in the order of ranks, so that all members have the same bits.
void NoLoCo::add_up(comm::Communicator& comm, const std::vector<int>& group) {
  comm.run(backend::Fill{0, sums_.span()});
  std::vector<comm::Request> sends;
  for (const int member : group)
    if (member != comm.rank()) sends.push_back(comm.start_send(member, tag, own_.span()));
  for (const int member : group) {
    if (member != comm.rank()) comm.receive(member, tag, other_.span());
    comm.run(backend::Add{member == comm.rank() ? own_.span() : other_.span(), sums_.span()});
  }
  for (const comm::Request send : sends) comm.wait(send);
}

void NoLoCo::meet(comm::Worker& worker, Replica& replica, const Meeting&) {
  const std::size_t length = replica.parameters.size();
  const core::Range first{0, length}, second{length, 2 * length};
  worker.run(backend::Copy{replica.parameters, first.of(own_.span())},
             backend::Descend{1, 0, model_.span(), first.of(own_.span())},
             backend::Copy{model_.span(), second.of(own_.span())});
  const std::vector<int> group = group_of(worker.rank(), worker.size());
  ++meetings_;
  add_up(worker.comm(), group);
  const auto members = static_cast<double>(group.size());
  worker.run(backend::Scale{static_cast<float>(options_.momentum), momentum_.span()},
             backend::Descend{static_cast<float>(-options_.rate / members), 0, first.of(sums_.span()), momentum_.span()},
             backend::Scale{static_cast<float>(1 / members), second.of(sums_.span())},
             backend::Descend{1, 0, model_.span(), second.of(sums_.span())},
             backend::Descend{static_cast<float>(-options_.pull), 0, second.of(sums_.span()), momentum_.span()},
             backend::Add{momentum_.span(), model_.span()}, backend::Copy{model_.span(), replica.parameters});
}

void NoLoCo::show_model(comm::Worker& worker, Replica& replica) {
  const std::span<float> distance = sums_.span().first(replica.parameters.size());
  worker.run(backend::Copy{model_.span(), replica.parameters});
  (*allreduce_)(worker.comm(), replica.parameters);
  worker.run(backend::Scale{static_cast<float>(1.0 / worker.size()), replica.parameters},
             backend::Copy{replica.parameters, distance}, backend::Descend{1, 0, model_.span(), distance});
  std::array<double, 2> squares{};
  worker.run_kernels([&](backend::KernelQueue& queue) {
    squares = {queue.squared_norm(distance), queue.squared_norm(replica.parameters)};
  });
  comm::sum_in_rank_order(worker.comm(), squares);
  spread_ = squares[1] > 0 ? std::sqrt(squares[0] / squares[1]) : 0;
}

void NoLoCo::resume_work(comm::Worker& worker, Replica& replica) {
  worker.run(backend::Copy{model_.span(), replica.parameters});
}

Remarks NoLoCo::report(comm::Worker&) {
  return {.lines = {core::format("the workers' models differ from their mean by {:.3g} % of its norm (root mean square)",
                                 100 * spread_)},
          .numbers = {{"model_spread", spread_}}};
}

void NoLoCo::describe_state(core::StateView& state) {
  state.add("own_model", model_.span(), core::Rescale::mean);
  state.add("own_momentum", momentum_.span(), core::Rescale::mean);
  state.add("meetings", meetings_, core::Rescale::equal);
}

}  // namespace

StrategyEntry noloco_entry() {
  return entry_of<NoLoCo, NoLoCoOptions>(
      {.name = "noloco",
       .summary = "after each block workers meet in pairs, drawn anew; nobody waits for all",
       .source = "Kolehmainen et al., 2025",
       .formula = "d = theta - phi\n"
                  "v = a v + b mean(d) + c (mean(phi) - phi) over the group\n"
                  "phi = phi + v\ntheta = phi"});
}

}  // namespace paragrad::strategies
