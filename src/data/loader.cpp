#include "data/loader.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace paragrad::data {

struct Loader::State {
  std::shared_ptr<const Dataset> dataset;
  Subset subset;
  Prefetcher& prefetcher;
  Arrival arrival;
  Split current, incoming;
  std::future<void> arriving;  // valid while `incoming` belongs to the background thread
  std::size_t position = 0;    // in `current`
  double waited_s = 0;
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher, Arrival arrival)
    : state_(new State{std::move(dataset), subset, prefetcher, std::move(arrival), {}, {}, {}, 0, 0}) {}

Loader::~Loader() {
  if (state_->arriving.valid()) state_->arriving.wait();
}

void Loader::prefetch(std::vector<std::uint32_t> rows) {
  if (state_->arriving.valid()) throw std::logic_error("Loader::prefetch: the rows prefetched before were not taken yet");
  state_->arriving = state_->prefetcher.submit([state = state_.get(), rows = std::move(rows)]() mutable {
    state->incoming.read(*state->dataset, state->subset, std::move(rows));
    if (state->arrival) state->arrival(state->incoming);
  });
}

void Loader::advance() {
  if (!state_->arriving.valid()) throw std::logic_error("Loader::advance: nothing was prefetched");
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  state_->arriving.wait();
  state_->waited_s += std::chrono::duration<double>(Clock::now() - start).count();
  state_->current.clear();
  state_->position = 0;
  state_->arriving.get();
  std::swap(state_->current, state_->incoming);
}

StoredBatch Loader::next(std::size_t at_most) {
  if (at_most == 0) throw std::logic_error("Loader::next: a minibatch of no samples");
  const std::size_t first = state_->position;
  state_->position += std::min(at_most, remaining());
  const core::Range range{first, state_->position};
  const Split& split = state_->current;
  return {.samples = {.features = {},
                      .labels = range.of(std::span<const std::int32_t>(split.labels)),
                      .rows = range.of(std::span<const std::uint32_t>(split.rows))},
          .windows = range.of(std::span<const std::uint32_t>(split.windows)),
          .split = &split,
          .rows_of_split = range};
}

std::size_t Loader::remaining() const { return state_->current.labels.size() - state_->position; }

double Loader::waited_s() const { return state_->waited_s; }

}  // namespace paragrad::data
