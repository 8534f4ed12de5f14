#include "data/loader.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/arena.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

/// The rows of one split as they are stored, and their labels.
struct Split {
  std::vector<std::byte> stored;
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> rows;

  void clear() {
    stored.clear();
    labels.clear();
    rows.clear();
  }

  /// Copies out of the map: this is where pages are read from the disk.
  void read(const Dataset& dataset, Subset subset, std::vector<std::uint32_t> wanted) {
    rows = std::move(wanted);
    const std::size_t bytes = dataset.bytes_per_row();
    stored.resize(rows.size() * bytes);
    labels.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(stored.data() + i * bytes, dataset.row(subset, rows[i]).data(), bytes);
      labels[i] = dataset.label(subset, rows[i]);
      // A label outside the classes would index memory that is not there, in a kernel that does not ask.
      if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= dataset.info().classes)
        throw core::ConfigError(core::format("data file '{}': label {} of row {} of {} is outside the {} classes",
                                             dataset.info().path, labels[i], rows[i],
                                             subset_names[static_cast<std::size_t>(subset)], dataset.info().classes));
    }
  }
};

}  // namespace

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
  const std::size_t bytes = state_->dataset->bytes_per_row();
  if (state_->decoded.size() < size * dim) state_->decoded = core::host_arena(size * dim);

  const std::size_t first = std::exchange(state_->position, state_->position + size);
  const auto features = state_->decoded.span().first(size * dim);
  state_->dataset->decode(std::span<const std::byte>(state_->current.stored).subspan(first * bytes, size * bytes), features);
  return {features, std::span<const std::int32_t>(state_->current.labels).subspan(first, size),
          std::span<const std::uint32_t>(state_->current.rows).subspan(first, size)};
}

std::size_t Loader::remaining() const { return state_->current.labels.size() - state_->position; }

double Loader::waited_s() const { return state_->waited_s; }

}  // namespace paragrad::data
