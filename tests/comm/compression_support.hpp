#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/fill.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "comm/compression/striped.hpp"
#include "core/philox.hpp"
#include "thread_communicator.hpp"

/// What a few workers make of a few gradients.
namespace paragrad::comm::testing {

inline const std::vector<core::Matrix> layout{{0, {33, 7}}, {231, {33, 1}}, {264, {5, 33}}, {429, {5, 1}}, {434, {64, 3}}};
inline constexpr std::size_t length = 434 + 192;
inline const std::vector<core::Range> buckets{{429, length}, {0, 429}};  // last layer first

/// The catalogue's lossy compressions, with examples of their parameters, and more of them.
inline std::vector<std::string> lossy_ones() {
  std::vector<std::string> names{
      "bits:2", "bits:4", "bits:8", "bits:16", "top_k:0.05", "chunk_top_k:3,16", "chunk_top_k:5,64,4"};
  for (const core::EntryInfo& entry : comm::compression_catalogue().entries)
    if (entry.name != "none") names.push_back(entry.name + entry.example);
  return names;
}

inline float gradient_of(int step, int worker, std::size_t i) {
  const core::RandomStream random(7, core::Purpose::generator, static_cast<std::uint32_t>(100 * step + worker));
  return static_cast<float>(random.normal(i) * (i % 33 == 0 ? 5 : 0.1) + (i % 7 == 0 ? 0.05 : 0));
}

/// What came of a few steps of some workers.
struct Outcome {
  std::vector<std::vector<float>> sums;  // [workers] of the last step
  std::vector<double> delivered;         // [length] all sums of all steps, of worker 0
  std::vector<double> wanted;            // [length] and what they stand for
  double kept = 0;                       // all that is left out in the end
  std::vector<std::uint64_t> bytes;      // [workers] sent
};

inline Outcome sum_up(int workers, int steps, const std::function<std::unique_ptr<GradientSum>()>& make) {
  Outcome outcome;
  outcome.sums.resize(static_cast<std::size_t>(workers));
  outcome.bytes.resize(static_cast<std::size_t>(workers));
  outcome.delivered.assign(length, 0);
  outcome.wanted.assign(length, 0);
  for (int step = 0; step < steps; ++step)
    for (int worker = 0; worker < workers; ++worker)
      for (std::size_t i = 0; i < length; ++i) outcome.wanted[i] += gradient_of(step, worker, i);
  std::mutex mutex;
  comm::testing::run_threads(workers, [&](Communicator& comm) {
    const auto sum = make();
    sum->start(comm, layout, buckets);
    std::vector<float> gradient(length);
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < length; ++i) gradient[i] = gradient_of(step, comm.rank(), i);
      for (const core::Range bucket : buckets) (*sum)(comm, bucket, gradient);
      if (comm.rank() == 0)
        for (std::size_t i = 0; i < length; ++i) outcome.delivered[i] += gradient[i];
    }
    core::StateView state;
    sum->describe_state(state);
    const std::lock_guard lock(mutex);
    outcome.sums[static_cast<std::size_t>(comm.rank())] = gradient;
    outcome.bytes[static_cast<std::size_t>(comm.rank())] = comm.traffic().sent_bytes;
    for (const auto& array : state.arrays)
      if (array.name.ends_with("residual"))
        for (const float value : array.values) outcome.kept += value;
  });
  return outcome;
}

inline Outcome sum_up(int workers, int steps, const std::string& name, const core::Settings& settings = {}) {
  return sum_up(workers, steps, [&] { return comm::make_gradient_sum(name, settings); });
}

inline double total(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.); }

/// Writes floats as they are: what is left is the order of the sums.
class Verbatim : public comm::compression::Codec {
 public:
  Grain grain() const override { return Grain::column; }
  std::size_t bytes(const comm::compression::Stripe& stripe) const override { return stripe.range.size() * sizeof(float); }
  void encode(backend::KernelQueue& queue, const comm::compression::Stripe&, std::span<const float> x, std::span<float>,
              std::span<std::byte> packed) const override {
    queue.run(backend::Copy{x, {reinterpret_cast<float*>(packed.data()), x.size()}});
  }
  void decode(backend::KernelQueue& queue, const comm::compression::Stripe&, std::span<const std::byte> packed, float keep,
              std::span<float> x) const override {
    const std::span<const float> values{reinterpret_cast<const float*>(packed.data()), x.size()};
    if (keep == 0) queue.run(backend::Fill{0, x});
    queue.run(backend::Add{values, x});
  }
};

}  // namespace paragrad::comm::testing
