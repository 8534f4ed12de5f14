#include "data/loader.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "core/arena.hpp"
#include "data/split.hpp"

namespace paragrad::data {

struct Loader::State {
  std::shared_ptr<const Dataset> dataset;
  Subset subset;
  Prefetcher& prefetcher;
  Split current, incoming;
  std::future<void> arriving;  // valid while `incoming` belongs to the background thread
  std::size_t position = 0;    // in `current`
  core::Arena decoded;
  double waited_s = 0;
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher)
    : state_(new State{std::move(dataset), subset, prefetcher, {}, {}, {}, 0, {}, 0}) {}

Loader::~Loader() {
  if (state_->arriving.valid()) state_->arriving.wait();
}

void Loader::prefetch(std::vector<std::uint32_t> rows) {
  if (state_->arriving.valid()) throw std::logic_error("Loader::prefetch: the rows prefetched before were not taken yet");
  state_->arriving = state_->prefetcher.submit([state = state_.get(), rows = std::move(rows)]() mutable {
    state->incoming.read(*state->dataset, state->subset, std::move(rows));
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

Batch Loader::next(std::size_t at_most) {
  if (at_most == 0) throw std::logic_error("Loader::next: a minibatch of no samples");
  const std::size_t size = std::min(at_most, remaining());
  const std::size_t dim = state_->dataset->info().dim;
  if (state_->decoded.size() < size * dim) state_->decoded = core::host_arena(size * dim);

  const std::size_t first = std::exchange(state_->position, state_->position + size);
  const auto features = state_->decoded.span().first(size * dim);
  state_->current.decode(*state_->dataset, {first, first + size}, features);
  return {features, std::span<const std::int32_t>(state_->current.labels).subspan(first, size),
          std::span<const std::uint32_t>(state_->current.rows).subspan(first, size)};
}

std::size_t Loader::remaining() const { return state_->current.labels.size() - state_->position; }

double Loader::waited_s() const { return state_->waited_s; }

}  // namespace paragrad::data
