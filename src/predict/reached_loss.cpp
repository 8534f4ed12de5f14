#include "predict/reached_loss.hpp"

#include <cmath>

namespace paragrad::predict {
namespace {

double number(const core::Json& record, const char* name) {
  const auto found = record.find(name);
  return found == record.end() || found->is_null() ? NAN : found->get<double>();
}

}  // namespace

std::optional<ReachedLoss> first_with_loss(const std::vector<core::Json>& records, double loss) {
  ReachedLoss here, before;
  double loss_before = NAN;
  for (const core::Json& record : records) {
    if (record.contains("end")) break;
    here.samples = record.at("samples").get<double>();
    for (const char* const part : {"optimise_s", "aggregate_s", "data_s"}) here.time_s += record.at(part).get<double>();
    here.sent_bytes += number(record, "sent_bytes");
    const double now = number(record, "valid_loss");
    if (now <= loss) {
      const double part = loss_before > now ? (loss_before - loss) / (loss_before - now) : 1;
      const auto between = [&](double from, double to) { return from + part * (to - from); };
      return ReachedLoss{between(before.samples, here.samples), between(before.time_s, here.time_s),
                         between(before.sent_bytes, here.sent_bytes)};
    }
    if (std::isnan(now)) continue;
    before = here;
    loss_before = now;
  }
  return std::nullopt;
}

}  // namespace paragrad::predict
