#include <algorithm>
#include <utility>

#include "backend/kernels/copy.hpp"
#include "core/format.hpp"
#include "strategies/fragments.hpp"
#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {
namespace {

struct StreamingOptions : OuterExchangeOptions {
  enum class Cut { strided, packed };

  OuterStepOptions outer;
  std::size_t fragments = 3;  // P
  Cut cut = Cut::strided;
  std::size_t delay = 1;     // τ
  double local_share = 0.5;  // α

  void describe(core::OptionList& list) {
    OuterExchangeOptions::describe(list);
    outer.describe(list);
    list.group("Meetings");
    list.number("fragments", fragments, {.least = 1, .most = 10'000},
                "parts of the model that are exchanged in turn, at equal distances within a block");
    list.choice("fragment-cut", cut, {{"strided", Cut::strided}, {"packed", Cut::packed}},
                "what a fragment holds: every P-th block of the network (strided; the first also has what belongs to no "
                "block), or matrices so that all are about equal (packed)");
    list.number("outer-delay", delay, core::any_count,
                "minibatches that workers go on training while a fragment is exchanged");
    list.number("local-share", local_share, core::below_one,
                "share that a worker keeps of its own fragment when the exchanged one arrives (0: it takes that one)");
  }
};

/// Streaming DiLoCo (Douillard et al., arXiv 2501.18512, 2025): the matrices of the model are dealt out to P fragments,
/// see strided_fragments and packed_fragments. Block by block, after (p+1)/P of its rounds, the workers average fragment p
/// and take DiLoCo's outer step for it; τ minibatches later, at the latest before the next fragment is sent, each worker
/// moves to the result:
///
///   g = x - x_avg;  v = μ v + g;  x = x - lr (g + μ v)    of fragment p, with its own v
///   x_i = α x_i + (1 - α) x                               τ minibatches later
///
/// So one fragment travels at a time, while the workers train: of a network it asks for 1/P of what DiLoCo asks for at
/// once. x_avg weights a worker by the samples that it processed since the fragment was last sent. When a fragment is
/// applied depends on τ alone, never on when its messages arrive: a slow network delays the workers instead.
///
/// P = 1, τ = 0, α = 0 is DiLoCo, bit for bit. Defaults are DiLoCo's; the paper has lr = 0.4. The model that is evaluated
/// and saved is x; x of all fragments, and v, are spread over the workers, each holding what it owns in the exchange. A
/// worker also holds the largest fragment, and while evaluating its own model.
class StreamingDiLoCo : public MeetingStrategy {
 public:
  StreamingDiLoCo(const StreamingOptions& options, StrategyContext context)
      : options_(options), context_(std::move(context)) {}

  Remarks explain(const Extent& extent) const override;
  Remarks report(comm::Worker& worker) override;
  void start(comm::Worker& worker, Replica& replica) override;
  std::size_t next_meeting(std::size_t round, std::size_t rounds) override;
  void meet(comm::Worker& worker, Replica& replica, const Meeting& at) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override;

 private:
  /// A fragment, and what this worker keeps for it.
  struct Stream {
    Fragment fragment;
    OuterExchange exchange;
    core::Range owned;          // of the packed fragment
    core::Range kept;           // the same elements in model_ and momentum_
    std::uint64_t samples = 0;  // processed by this worker since it was last sent
  };

  std::vector<Fragment> fragments_of(std::span<const core::Matrix> layout) const;
  std::size_t sent_after(std::size_t number, std::size_t rounds) const { return (number + 1) * rounds / streams_.size(); }
  void send(comm::Worker& worker, const Replica& replica, Stream& stream);
  void exchange(comm::Communicator& comm, Stream& stream, std::size_t samples);
  void apply(comm::Worker& worker, Replica& replica);

  StreamingOptions options_;
  StrategyContext context_;
  std::vector<Stream> streams_;
  core::Arena model_;              // x, [what this worker owns of all fragments]
  core::Arena momentum_;           // v, likewise
  core::Arena travelling_;         // [largest fragment]: sent; after a join() the next x
  core::Arena own_;                // between show_model and resume_work x_i
  std::uint64_t under_way_ = 0;    // 0: nothing is travelling; or else the fragment's number, from 1
  std::uint64_t rounds_left_ = 0;  // until it is applied
  double trained_ = 0;             // after a join(): the samples behind it; 0: it changes nothing
};

std::vector<Fragment> StreamingDiLoCo::fragments_of(std::span<const core::Matrix> layout) const {
  const bool strided = options_.cut == StreamingOptions::Cut::strided;
  return (strided ? strided_fragments : packed_fragments)(layout, options_.fragments);
}

Remarks StreamingDiLoCo::explain(const Extent& extent) const {
  Remarks remarks = OuterExchange(options_, context_).explain(extent);
  const std::size_t fragments = fragments_of(extent.layout).size();
  remarks.numbers = {{"fragments", static_cast<double>(fragments)}};
  if (fragments < options_.fragments)
    remarks.lines.push_back(core::format("{} fragments instead of {}: the network has no more {}", fragments,
                                         options_.fragments,
                                         options_.cut == StreamingOptions::Cut::strided ? "blocks" : "matrices"));
  const double distance = extent.local_steps / static_cast<double>(std::max<std::size_t>(fragments, 1));
  const auto delay = static_cast<double>(options_.delay);
  if (fragments == 1 && delay >= distance)
    remarks.lines.push_back(core::format(
        "with an outer delay of {} minibatches, a block or more, the model arrives when the next one is sent, and "
        "workers keep {:.3g} % of what they have learnt meanwhile: use eager_diloco",
        options_.delay, 100 * options_.local_share));
  else if (delay > distance)
    remarks.lines.push_back(
        core::format("an outer delay of {} minibatches is longer than the {:.3g} between two fragments, so each is applied "
                     "when the next one is sent; use longer blocks or fewer fragments",
                     options_.delay, distance));
  return remarks;
}

void StreamingDiLoCo::start(comm::Worker& worker, Replica& replica) {
  streams_.clear();
  under_way_ = rounds_left_ = 0;
  trained_ = 0;
  own_ = {};
  std::size_t kept = 0, largest = 0;
  for (Fragment& fragment : fragments_of(replica.layout)) {
    OuterExchange exchange(options_, context_, streams_.size());
    exchange.start(worker.comm(), fragment.layout());
    const core::Range owned = exchange.owned(worker.comm(), fragment.size());
    largest = std::max(largest, fragment.size());
    streams_.push_back({std::move(fragment), std::move(exchange), owned, {kept, kept + owned.size()}});
    kept += owned.size();
  }
  model_ = worker.device().allocate(kept);
  momentum_ = worker.device().allocate(kept);
  travelling_ = worker.device().allocate(largest);
  worker.run_kernels([&](backend::KernelQueue& queue) {
    for (const Stream& stream : streams_) {
      std::size_t at = stream.kept.begin;
      for (const core::Range range : stream.fragment.unpacked(stream.owned)) {
        queue.run(backend::Copy{range.of(std::span<const float>(replica.parameters)),
                                core::Range{at, at + range.size()}.of(model_.span())});
        at += range.size();
      }
    }
  });
}

std::size_t StreamingDiLoCo::next_meeting(std::size_t round, std::size_t rounds) {
  std::size_t next = under_way_ != 0 ? round + rounds_left_ : rounds;
  for (std::size_t number = 0; number < streams_.size(); ++number)
    if (const std::size_t sent = sent_after(number, rounds); sent > round) next = std::min(next, sent);
  return std::min(next, rounds);
}

void StreamingDiLoCo::meet(comm::Worker& worker, Replica& replica, const Meeting& at) {
  for (Stream& stream : streams_) stream.samples += at.samples;
  if (under_way_ != 0 && (rounds_left_ -= at.passed) == 0) apply(worker, replica);
  for (std::size_t number = 0; number < streams_.size(); ++number) {
    // A block with fewer rounds than fragments has none between some of them; those before the first come with it.
    if (std::max<std::size_t>(sent_after(number, at.rounds), 1) != at.round) continue;
    if (under_way_ != 0) apply(worker, replica);
    under_way_ = number + 1;
    rounds_left_ = options_.delay;
    send(worker, replica, streams_[number]);
    if (rounds_left_ == 0) apply(worker, replica);
  }
}

void StreamingDiLoCo::send(comm::Worker& worker, const Replica& replica, Stream& stream) {
  worker.run_kernels([&](backend::KernelQueue& queue) {
    stream.fragment.pack(queue, replica.parameters, travelling_.span().first(stream.fragment.size()));
  });
  const std::size_t samples = std::exchange(stream.samples, 0);
  if (options_.delay == 0) return exchange(worker.comm(), stream, samples);
  worker.launch([this, &stream, samples](comm::Communicator& comm) { exchange(comm, stream, samples); });
}

void StreamingDiLoCo::exchange(comm::Communicator& comm, Stream& stream, std::size_t samples) {
  const std::span<float> values = travelling_.span().first(stream.fragment.size());
  trained_ = total_samples(comm, samples);
  if (trained_ == 0) return;
  stream.exchange.to_mean(comm, values, stream.kept.of(model_.span()), samples, trained_);
  nesterov_step(comm, {stream.owned.of(values), stream.kept.of(model_.span()), stream.kept.of(momentum_.span())},
                options_.outer.learning_rate, options_.outer.momentum);
  stream.exchange.all_gather(comm, values);
}

void StreamingDiLoCo::apply(comm::Worker& worker, Replica& replica) {
  worker.join();
  const Fragment& fragment = streams_[std::exchange(under_way_, 0) - 1].fragment;
  rounds_left_ = 0;
  if (trained_ == 0) return;
  worker.run_kernels([&](backend::KernelQueue& queue) {
    const std::span<const float> arrived = travelling_.span().first(fragment.size());
    if (options_.local_share == 0)
      fragment.unpack(queue, arrived, replica.parameters);
    else
      fragment.move_towards(queue, static_cast<float>(1 - options_.local_share), arrived, replica.parameters);
  });
}

void StreamingDiLoCo::show_model(comm::Worker& worker, Replica& replica) {
  worker.join();
  own_ = worker.device().allocate(replica.parameters.size());
  core::Arena whole = worker.device().allocate(travelling_.size());
  worker.run(backend::Copy{replica.parameters, own_.span()});
  for (const Stream& stream : streams_) {
    const std::span<float> values = whole.span().first(stream.fragment.size());
    worker.run(backend::Copy{stream.kept.of(model_.span()), stream.owned.of(values)});
    stream.exchange.all_gather(worker.comm(), values);
    worker.run_kernels([&](backend::KernelQueue& queue) { stream.fragment.unpack(queue, values, replica.parameters); });
  }
}

void StreamingDiLoCo::resume_work(comm::Worker& worker, Replica& replica) {
  worker.run(backend::Copy{own_.span(), replica.parameters});
  own_ = {};
}

Remarks StreamingDiLoCo::report(comm::Worker& worker) {
  std::optional<std::uint64_t> saturated;
  for (Stream& stream : streams_)
    if (const auto of_one = stream.exchange.saturated(worker.comm())) saturated = saturated.value_or(0) + *of_one;
  return remarks_on_displacements(worker, saturated);
}

void StreamingDiLoCo::describe_state(core::StateView& state) {
  std::vector<core::Range> pieces;
  for (const Stream& stream : streams_)
    for (const core::Range range : stream.fragment.unpacked(stream.owned)) pieces.push_back(range);
  if (pieces.empty()) pieces.push_back({});  // a worker that owns nothing has to be in the state, too
  state.add("outer_model", model_.span(), pieces);
  state.add("outer_momentum", momentum_.span(), pieces);
  state.add("travelling", travelling_.span(), core::Rescale::equal);
  state.add("under_way", under_way_, core::Rescale::equal);
  state.add("rounds_left", rounds_left_, core::Rescale::equal);
  state.add("trained", trained_, core::Rescale::equal);
  for (std::size_t number = 0; number < streams_.size(); ++number) {
    state.add(core::format("samples_{}", number), streams_[number].samples, core::Rescale::sum);
    core::StateView errors;
    streams_[number].exchange.describe_state(errors);
    state.add(core::format("fragment_{}", number), std::move(errors));
  }
}

}  // namespace

StrategyEntry streaming_diloco_entry() {
  return entry_of<StreamingDiLoCo, StreamingOptions>(
      {.name = "streaming_diloco",
       .summary = "diloco by fragments of the model, exchanged in turn while the workers train",
       .source = "Douillard et al., 2025",
       .formula = "of fragment p, after (p + 1)/P of a block:\ng = x - mean of the local models\nv = mu v + g\n"
                  "x = x - rate (g + mu v)\nand tau minibatches later x_i = alpha x_i + (1 - alpha) x"});
}

}  // namespace paragrad::strategies
