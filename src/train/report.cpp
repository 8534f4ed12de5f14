#include "train/report.hpp"

#include <algorithm>
#include <utility>

#include "core/format.hpp"
#include "core/json.hpp"
#include "train/state/checkpoint.hpp"

namespace paragrad::train {

void Report::take_down(const strategies::Remarks& remarks, bool computes, Result& result) const {
  result.strategy.insert(result.strategy.end(), remarks.numbers.begin(), remarks.numbers.end());
  say(remarks.collective);
  if (!computes) return;
  for (const std::string& line : remarks.lines) say(line);
}

void Report::tell(const Epoch& epoch, const Learner& learner, const Result& result, const TimeBreakdown& times,
                  const TrafficSummary& traffic) {
  if (is_recorded()) {
    core::Json record{
        {"epoch", epoch.number}, {"samples", result.samples}, {"learning_rate", epoch.rate}, {"minibatch", epoch.minibatch}};
    if (epoch.blocks > 0) record["blocks"] = epoch.blocks;
    record.update(learner.record(result.train, result.valid));
    TimeBreakdown passed = times;
    passed -= told_;
    record.update({{"time_s", epoch.time_s},
                   {"optimise_s", passed.optimise_s},
                   {"aggregate_s", passed.aggregate_s},
                   {"validate_s", passed.validate_s},
                   {"data_s", passed.data_s},
                   {"exposed", passed.exposed()}});
    traffic.add_to(record);
    if (has_folder()) folder_->record(record);
    if (on_record_) on_record_(record);
  }
  told_ = times;
  const std::string scores = learner.computes() ? learner.describe(result.train, result.valid) : std::string{};
  const std::string part = epoch.blocks > 0 ? core::format("after {} blocks  ", epoch.blocks) : std::string{};
  say(core::format("epoch {:3}  {}rate {:<8.4g} {}{:.4g} s", epoch.number, part, epoch.rate, scores, epoch.time_s));
}

void Report::write_checkpoint(const TrainingOptions& options, const TrainingData& source, int epochs,
                              std::vector<float> model) const {
  train::write_checkpoint(folder_->file("checkpoint.h5"),
                          {options.model, source.info.content_sha256, static_cast<std::uint64_t>(epochs), std::move(model),
                           options.loss, trained_on(source.info)});
}

}  // namespace paragrad::train
