#include "train/traffic_account.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/json.hpp"

namespace paragrad::train {
namespace {

using comm::Traffic;

constexpr std::size_t numbers_per_worker = 8;

void put(const Traffic& traffic, std::span<double> numbers) {
  numbers[0] = static_cast<double>(traffic.messages);
  numbers[1] = static_cast<double>(traffic.sent_bytes);
  numbers[2] = static_cast<double>(traffic.received_bytes);
  numbers[3] = static_cast<double>(traffic.library_calls);
}

/// numbers: those of all workers, `numbers_per_worker` each; the first four from `first` on are summarised.
TrafficSummary summary_of(std::span<const double> numbers, std::size_t first) {
  TrafficSummary summary;
  const double share = static_cast<double>(numbers_per_worker) / static_cast<double>(numbers.size());
  for (std::size_t at = first; at < numbers.size(); at += numbers_per_worker) {
    summary.messages += numbers[at];
    summary.sent_bytes += numbers[at + 1];
    summary.received_bytes += numbers[at + 2];
    summary.most_sent_bytes = std::max(summary.most_sent_bytes, numbers[at + 1]);
    summary.is_known &= numbers[at + 3] == 0;
  }
  summary.messages *= share, summary.sent_bytes *= share, summary.received_bytes *= share;
  return summary;
}

}  // namespace

void TrafficSummary::add_to(core::Json& record) const {
  const auto number = [&](double value) { return is_known ? core::Json(value) : core::Json(nullptr); };
  record["messages"] = number(messages);
  record["sent_bytes"] = number(sent_bytes);
  record["received_bytes"] = number(received_bytes);
  record["most_sent_bytes"] = number(most_sent_bytes);
}

void TrafficAccount::resume() {
  counting_ = true;
  before_ = worker_.comm().traffic();
}

void TrafficAccount::pause() {
  counting_ = false;
  comm::Traffic passed = worker_.comm().traffic();
  passed -= before_;
  report_.recent += passed;
  report_.total += passed;
}

void TrafficAccount::post() {
  if (auto* const simulation = worker_.comm().simulated_time()) simulation->post(report_);
}

TrafficAccount::Summary TrafficAccount::summarise(const std::function<bool(std::span<double>)>& sum) {
  comm::SimulatedTime* const simulation = worker_.comm().simulated_time();
  const bool records = worker_.rank() == 0;
  if (simulation != nullptr && !records) {
    report_.recent = {};
    return {};
  }
  std::vector<double> numbers;
  const auto put_worker = [&](int rank, const comm::TrafficReport& report) {
    const auto mine = std::span(numbers).subspan(static_cast<std::size_t>(rank) * numbers_per_worker, numbers_per_worker);
    put(report.recent, mine.first(4));
    put(report.total, mine.last(4));
  };
  do {
    const int workers = worker_.size();
    numbers.assign(numbers_per_worker * static_cast<std::size_t>(workers), 0);
    if (simulation == nullptr)
      put_worker(worker_.rank(), report_);
    else
      for (int rank = 0; rank < workers; ++rank) put_worker(rank, simulation->posted(rank));
  } while (simulation == nullptr && !sum(numbers));
  report_.recent = {};
  if (!records) return {};
  return {summary_of(numbers, 0), summary_of(numbers, numbers_per_worker / 2)};
}

void TrafficAccount::describe_state(core::StateView& state) {
  for (auto [name, traffic] : {std::pair("recent", &report_.recent), std::pair("total", &report_.total)}) {
    const std::string owner = name;
    state.add(owner + "/messages", traffic->messages, core::Rescale::sum);
    state.add(owner + "/sent_bytes", traffic->sent_bytes, core::Rescale::sum);
    state.add(owner + "/received_bytes", traffic->received_bytes, core::Rescale::sum);
    state.add(owner + "/library_calls", traffic->library_calls, core::Rescale::sum);
  }
}

}  // namespace paragrad::train
