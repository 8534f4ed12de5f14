#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/device_array.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/embedding.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {
namespace {

struct SpartaOptions : comm::CollectiveOptions {
  enum class Mask { random, cycle };

  double share = 0.005;  // p
  Mask mask = Mask::random;

  void describe(core::OptionList& list) {
    CollectiveOptions::describe(list);
    list.group("Meetings");
    list.number("mask-share", share, {.least = 1e-9, .most = 1},
                "share of the parameters that are averaged after each minibatch");
    list.choice(
        "mask", mask, {{"random", Mask::random}, {"cycle", Mask::cycle}},
        "choice of the parameters averaged after a minibatch: each with probability `mask-share` (random), or all in "
        "turn, 1/ceil(1/`mask-share`) of them each time, in a new order for each cycle (cycle)");
  }
};

/// SPARTA (Beton, Reed, Howes, Cheema and Baioumy, "Improving the efficiency of distributed training using sparse parameter
/// averaging", 2025): after each minibatch the workers average a few parameters, the same at all, drawn by (seed,
/// minibatch):
///
///   x_i[S] = mean of x_j[S] over all workers j
///
/// With a share of 1 that is averaging at every minibatch. Each worker's model counts the same, also without samples in this
/// minibatch, so nothing that it has learnt is dropped. The mean of all models is evaluated and saved.
///
/// Bytes per minibatch: those of an allreduce of p times the parameters; where they lie is not sent.
class Sparta : public MeetingStrategy {
 public:
  Sparta(const SpartaOptions& options, const StrategyContext& context)
      : options_(options), seed_(context.seed), allreduce_(comm::make_allreduce(options.collective)) {}

  Remarks explain(const Extent& extent) const override {
    return explain_collective(options_.collective, *allreduce_, extent);
  }
  void start(comm::Worker& worker, Replica& replica) override;
  std::size_t next_meeting(std::size_t round, std::size_t) override { return round + 1; }
  void meet(comm::Worker& worker, Replica& replica, const Meeting& at) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override { state.add("meetings", meetings_, core::Rescale::equal); }

 private:
  std::vector<std::int32_t> draw(std::size_t length);
  std::vector<std::int32_t> draw_at_random(std::size_t length) const;
  std::vector<std::int32_t> next_of_cycle(std::size_t length);
  void average(comm::Worker& worker, std::span<float> values);

  SpartaOptions options_;
  std::uint64_t seed_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  std::uint64_t meetings_ = 0;
  std::vector<std::uint32_t> order_;  // of the present cycle
  std::uint64_t cycle_ = std::numeric_limits<std::uint64_t>::max();
  core::Arena masked_;  // parameters of the mask, packed
  core::Arena own_;     // between show_model and resume_work
};

void Sparta::start(comm::Worker&, Replica& replica) {
  if (replica.parameters.size() > std::size_t{std::numeric_limits<std::int32_t>::max()})
    throw core::ConfigError(
        "the strategy sparta can train at most 2,147,483,647 parameters: choose a smaller model or another strategy");
  meetings_ = 0;
  own_ = {};
}

/// In ascending order.
std::vector<std::int32_t> Sparta::draw(std::size_t length) {
  return options_.mask == SpartaOptions::Mask::random ? draw_at_random(length) : next_of_cycle(length);
}

/// Draws the distances between members, which are geometrically distributed.
std::vector<std::int32_t> Sparta::draw_at_random(std::size_t length) const {
  const core::RandomStream random(seed_, core::Purpose::masks, static_cast<std::uint32_t>(meetings_));
  const double scale = 1 / std::log1p(-options_.share);  // -0 for a share of 1: every distance is 1
  std::vector<std::int32_t> members;
  double place = -1;
  for (std::uint64_t drawn = 0;; ++drawn) {
    place += 1 + std::floor(std::log1p(-random.uniform(drawn)) * scale);
    if (place >= static_cast<double>(length)) return members;
    members.push_back(static_cast<std::int32_t>(place));
  }
}

std::vector<std::int32_t> Sparta::next_of_cycle(std::size_t length) {
  const auto parts = static_cast<std::uint64_t>(std::ceil(1 / options_.share - 1e-9));
  if (cycle_ != meetings_ / parts) {
    cycle_ = meetings_ / parts;
    order_ = core::RandomStream(seed_, core::Purpose::masks, static_cast<std::uint32_t>(cycle_))
                 .permutation(static_cast<std::uint32_t>(length));
  }
  const core::Range part = core::part_of(length, parts, meetings_ % parts);
  std::vector<std::int32_t> members(order_.begin() + static_cast<std::ptrdiff_t>(part.begin),
                                    order_.begin() + static_cast<std::ptrdiff_t>(part.end));
  std::ranges::sort(members);
  return members;
}

void Sparta::average(comm::Worker& worker, std::span<float> values) {
  reduce_to_mean(worker.comm(), *allreduce_, values, 1, worker.size());
  allreduce_->all_gather(worker.comm(), values);
}

void Sparta::meet(comm::Worker& worker, Replica& replica, const Meeting&) {
  const std::vector<std::int32_t> members = draw(replica.parameters.size());
  ++meetings_;
  if (worker.size() == 1 || members.empty()) return;
  const auto places = backend::on_device(worker.device(), std::span<const std::int32_t>(members));
  if (masked_.size() < members.size()) masked_ = worker.device().allocate(members.size());
  const std::span<float> packed = masked_.span().first(members.size());
  worker.run(backend::EmbeddingForward{1, places.span(), replica.parameters, packed});
  average(worker, packed);
  worker.run(backend::PlaceRows{1, places.span(), packed, replica.parameters});
}

void Sparta::show_model(comm::Worker& worker, Replica& replica) {
  own_ = worker.device().allocate(replica.parameters.size());
  worker.run(backend::Copy{replica.parameters, own_.span()});
  if (worker.size() > 1) average(worker, replica.parameters);
}

void Sparta::resume_work(comm::Worker& worker, Replica& replica) {
  worker.run(backend::Copy{own_.span(), replica.parameters});
  own_ = {};
}

}  // namespace

StrategyEntry sparta_entry() {
  return entry_of<Sparta, SpartaOptions>(
      {.name = "sparta",
       .summary = "after each minibatch workers average a few parameters, drawn anew",
       .source = "Beton et al., 2025",
       .formula = "x_i[S] = mean of x_j[S] over all workers j, S drawn by (seed, minibatch)"});
}

}  // namespace paragrad::strategies
