#include "backend/gpu_kernels/command_graph.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace paragrad::backend::gpu_kernels {
namespace {

constexpr std::size_t most_calls = 16 * 1024;  // a deep LSTM on long sequences needs a few thousand per minibatch
constexpr std::size_t least_recorded = 4;      // with fewer, separate calls are as cheap
constexpr std::size_t most_recorded = 64;
constexpr std::size_t most_met = 4096;

constexpr std::uint64_t mixed(std::uint64_t key, std::uint64_t number) {
  key = (key ^ number) * 0x9E3779B97F4A7C15;  // Fibonacci hashing
  return key ^ key >> 29;
}

std::uint64_t key_of(const Call& call) {
  if (const auto* launch = std::get_if<Launch>(&call))
    return mixed(reinterpret_cast<std::uintptr_t>(launch->function), launch->blocks);
  if (const auto* mark = std::get_if<Mark>(&call)) return static_cast<std::uint64_t>(*mark);
  const auto with_addresses = [](std::uint64_t key, std::initializer_list<const float*> addresses) {
    for (const float* address : addresses) key = mixed(key, reinterpret_cast<std::uintptr_t>(address));
    return key;
  };
  if (const auto* convolution = std::get_if<PackedConvolution>(&call))
    return with_addresses(mixed(static_cast<std::uint64_t>(convolution->pass), convolution->shape.rows),
                          {convolution->a, convolution->b, convolution->result});
  const auto& product = std::get<Multiplication>(call);
  return with_addresses(mixed(product.m, product.n), {product.a.data, product.b.data, product.c});
}

/// Whether a recording of one series can be used for the other.
bool are_alike(const Call& a, const Call& b) {
  if (a.index() != b.index()) return false;
  if (const auto* product = std::get_if<Multiplication>(&a)) return *product == std::get<Multiplication>(b);
  if (const auto* convolution = std::get_if<PackedConvolution>(&a)) return *convolution == std::get<PackedConvolution>(b);
  if (const auto* mark = std::get_if<Mark>(&a)) return *mark == std::get<Mark>(b);
  const auto &launch = std::get<Launch>(a), &other = std::get<Launch>(b);
  return launch.function == other.function && launch.blocks == other.blocks;
}

bool are_given_the_same(const Call& a, const Call& b) {
  const auto* launch = std::get_if<Launch>(&a);
  return launch == nullptr || launch->kernel == std::get<Launch>(b).kernel;
}

}  // namespace

void CommandQueue::add(Call call) {
  key_ = mixed(key_, key_of(call));
  if (const auto* mark = std::get_if<Mark>(&call)) forked_ = *mark != Mark::join;
  calls_.push_back(std::move(call));
  if (calls_.size() >= most_calls && !forked_) submit();
}

bool CommandQueue::is_met(std::uint64_t key) {
  if (met_.size() == most_met) met_.clear();
  return !met_.insert(key).second;
}

void CommandQueue::submit() {
  const std::uint64_t key = std::exchange(key_, 0);
  std::vector<Call> calls = std::exchange(calls_, {});
  const auto known = recorded_.find(key);
  if (known != recorded_.end() && std::ranges::equal(known->second.calls, calls, are_alike)) {
    Recorded& series = known->second;
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (!are_given_the_same(calls[i], series.calls[i])) series.recording->change(i, std::get<Launch>(calls[i]));
    series.recording->launch();
    series.calls = std::move(calls);
    return;
  }
  std::unique_ptr<CommandGraph> recording;
  if (calls.size() >= least_recorded && is_met(key)) recording = executor_.record(calls);
  if (recording == nullptr) {
    for (const Call& call : calls) executor_.execute(call);
    return;
  }
  if (recorded_.size() == most_recorded) recorded_.clear();
  recording->launch();
  recorded_[key] = {std::move(calls), std::move(recording)};
}

}  // namespace paragrad::backend::gpu_kernels
