#include "strategies/update_statistics.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/scale.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {

void StatisticsOptions::describe(core::OptionList& list) {
  list.group("Meetings");
  list.flag("update-statistics", statistics,
            "report the correlation of successive mean updates, and how far apart the workers' models are");
}

void UpdateStatistics::start(comm::Worker& worker, core::Range owned, std::size_t length, bool exact) {
  if (!on_) return;
  owned_ = owned;
  exact_ = exact;
  auto all = static_cast<double>(owned.size());
  comm::sum_in_rank_order(worker.comm(), {&all, 1});
  copies_ = length > 0 ? all / static_cast<double>(length) : 1;
  update_ = worker.device().allocate(owned.size());
  previous_ = worker.device().allocate(owned.size());
  previous_square_ = correlations_ = spreads_ = 0;
  blocks_ = 0;
}

void UpdateStatistics::see_own(comm::Worker& worker, std::span<const float> model) {
  if (on_ && exact_) worker.run_kernels([&](backend::KernelQueue& queue) { own_square_ = queue.squared_norm(model); });
}

void UpdateStatistics::see_mean(comm::Worker& worker, std::span<const float> average, std::span<const float> model,
                                double share) {
  if (!on_) return;
  std::array<double, 4> squares{};  // of models, their mean, the update, and its difference from the previous one
  worker.run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Copy{average, update_.span()});
    queue.run(backend::Scale{-1, update_.span()});  // the sign does not matter
    queue.run(backend::Add{model, update_.span()});
    queue.run(backend::Scale{-1, previous_.span()});
    queue.run(backend::Add{update_.span(), previous_.span()});
    squares = {0, queue.squared_norm(average), queue.squared_norm(update_.span()), queue.squared_norm(previous_.span())};
  });
  for (double& square : squares) square /= copies_;
  squares[0] = share * own_square_;
  comm::sum_in_rank_order(worker.comm(), squares);
  const auto [models, mean, update, difference] = squares;
  const double product = std::sqrt(update) * std::sqrt(previous_square_);
  if (product > 0) correlations_ += (update + previous_square_ - difference) / (2 * product);
  if (mean > 0 && models > mean) spreads_ += std::sqrt(models / mean - 1);
  std::swap(update_, previous_);
  previous_square_ = update;
  blocks_ += 1;
}

Remarks UpdateStatistics::report() const {
  Remarks remarks;
  if (blocks_ > 0 && exact_) {
    const double spread = spreads_ / static_cast<double>(blocks_);
    remarks.lines.push_back(
        core::format("before they met, the workers' models differed from their mean by {:.3g} % of its norm", 100 * spread));
    remarks.numbers.emplace_back("model_spread", spread);
  }
  if (blocks_ < 2) return remarks;
  const double correlation = correlations_ / static_cast<double>(blocks_ - 1);
  remarks.lines.push_back(core::format("successive mean updates had a correlation of {:.3g}", correlation));
  remarks.numbers.emplace_back("update_correlation", correlation);
  return remarks;
}

void UpdateStatistics::describe_state(core::StateView& state) {
  if (!on_) return;
  state.add("previous_update", previous_.span(), {owned_});
  state.add("previous_square", previous_square_, core::Rescale::equal);
  state.add("correlations", correlations_, core::Rescale::equal);
  state.add("spreads", spreads_, core::Rescale::equal);
  state.add("blocks_seen", blocks_, core::Rescale::equal);
}

}  // namespace paragrad::strategies
