#include "strategies/outer_exchange.hpp"

#include "backend/kernels/add.hpp"
#include "backend/kernels/scale.hpp"
#include "strategies/saturation.hpp"

namespace paragrad::strategies {
namespace {

constexpr const char* compression_option = "outer-compression";

std::unique_ptr<comm::GradientSum> make_sum(const std::string& name, const core::Settings& settings, std::uint64_t seed) {
  try {
    return comm::make_gradient_sum(name, settings, seed);
  } catch (const core::OptionError& error) {  // of the name's parameter, which belongs to `compression` there
    if (settings.contains(error.option)) throw;
    throw core::OptionError(compression_option, error.reason);
  }
}

}  // namespace

void OuterExchangeOptions::describe(core::OptionList& list) {
  list.group("Block updates");
  list.entry(compression_option, compression, comm::compression_catalogue,
             "compression of the workers' displacements in a block (none: models are averaged)")
      .off("none");
}

OuterExchange::OuterExchange(const OuterExchangeOptions& options, const StrategyContext& context, std::uint64_t stream) {
  if (options.compression == "none") {
    collective_ = core::read_options<comm::CollectiveOptions>(context.settings).collective;
    allreduce_ = comm::make_allreduce(collective_);
  } else {
    sum_ = make_sum(options.compression, context.settings, context.seed + stream);
  }
}

core::Range OuterExchange::owned(comm::Communicator& comm, std::size_t length) const {
  return allreduce_ ? allreduce_->owned(comm, length) : core::Range{0, length};
}

Remarks OuterExchange::explain(const Extent& extent) const {
  if (allreduce_) return explain_collective(collective_, *allreduce_, extent);
  if (extent.communicator == nullptr || extent.workers == 1) return {};
  return {.collective = sum_->explain(*extent.communicator, extent.parameters)};
}

void OuterExchange::start(comm::Communicator& comm, std::span<const core::Matrix> layout) {
  if (!sum_ || comm.size() == 1) return;
  const core::Range all{0, layout.empty() ? 0 : layout.back().range().end};
  sum_->start(comm, layout, {&all, 1});
  // The sum is a mean: in units of 2^-10, fp16 holds displacements up to 64, with its full 11 bits down to 6e-8.
  sum_->set_samples(0x1p-10);
}

void OuterExchange::to_mean(comm::Communicator& comm, std::span<float> values, std::span<const float> model,
                            std::size_t samples, double total) {
  if (allreduce_) return reduce_to_mean(comm, *allreduce_, values, samples, total);
  if (comm.size() == 1) return;
  const auto share = static_cast<float>(static_cast<double>(samples) / total);
  comm.run(backend::Scale{-1, values}, backend::Add{model, values}, backend::Scale{share, values});
  (*sum_)(comm, {0, values.size()}, values);
  comm.run(backend::Scale{-1, values}, backend::Add{model, values});
}

void OuterExchange::all_gather(comm::Communicator& comm, std::span<float> values) const {
  if (allreduce_) allreduce_->all_gather(comm, values);
}

std::optional<std::uint64_t> OuterExchange::saturated(comm::Communicator& comm) {
  return sum_ && comm.size() > 1 ? sum_->saturated(comm) : std::nullopt;
}

void OuterExchange::describe_state(core::StateView& state) {
  if (sum_) sum_->describe_state(state);
}

Remarks remarks_on_displacements(comm::Worker& worker, std::optional<std::uint64_t> mine) {
  return remarks_on_saturation(worker, mine, "displacements", compression_option);
}

}  // namespace paragrad::strategies
