// Throughput of training on one core of the device cpu, or on a GPU, as a fraction of the rate of large matrix products
// (OpenBLAS, or cuBLAS at the same precision) measured in the same run. Counted are needed multiplications only: 2 flops for
// each of the forward pass, 2 for the gradient of its weight, 2 for that of its input except in the first layer. Frames of
// recurrent layers count as samples, their weights of the step before like all others; minibatches there are 16 chunks of
// 106 frames (21-64+21); tokens of a text do too, with half of the products of attention, and are trained with AdamW and
// clipped gradients. What is timed is the training loop's own step (train::NetworkLearner: forward, loss, backward, momentum
// update), without reading data. Of one core beside it the same step of PyTorch (torch_training.py), where `make peers` has
// installed it.
//
//   bench_training [seconds per net, 0 to say what would be measured [device [model]]]
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend_info.hpp"
#include "backend/device_array.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/node_costs.hpp"
#include "tests/bench/peer.hpp"
#include "tests/bench/throughput.hpp"
#include "train/learners/network_learner.hpp"

using namespace paragrad;

namespace {

struct Net {
  std::string model;
  std::size_t batch;
  double target;
  std::vector<std::uint32_t> active{};  // of sequences, see data::Batch

  bool is_text() const { return model.starts_with("gpt"); }
  std::size_t sequences() const { return active.empty() ? batch : active.front(); }  // or samples that stand alone
  std::size_t frames() const { return batch / sequences(); }                         // of each
};

/// Flops per sample that the mathematics needs. The backward pass of attention computes its scores again, which do not
/// count.
double needed_flops(const Net& net) {
  double flops = 0, first = 0;
  for (const nn::NodeCost& node : nn::node_costs(nn::make_graph(net.model))) {
    const double multiplications = static_cast<double>(node.multiplications);
    flops += 6 * multiplications;
    if (first == 0) first = multiplications;
  }
  return net.is_text() ? flops : flops - 2 * first;  // the inputs of a text are no products
}

double step_s_of(backend::Device& device, const Net& net, double seconds) {
  train::TrainingOptions options;
  options.model = net.model;
  if (net.is_text()) {
    options.optimiser.name = "adamw";
    options.optimiser.clip_per_sample = 1;
    options.optimiser.clip = "global";
  }
  const auto network = std::make_shared<const nn::Graph>(nn::make_graph(options.model));
  train::NetworkLearner learner(device, network, options, net.sequences(), false, net.frames());
  learner.initialise(1);
  core::Arena features = device.allocate(net.batch * learner.inputs());
  bench::randomise(device, features.span(), 3);
  std::vector<std::int32_t> said(net.batch);
  for (std::size_t s = 0; s < net.batch; ++s) said[s] = static_cast<std::int32_t>(s % network->outputs());
  const auto labels = backend::on_device(device, std::span<const std::int32_t>(said));
  const optim::Step step{0.01f / static_cast<float>(net.batch), 0, 0, static_cast<float>(net.batch)};
  backend::DeviceArray<backend::LossSum> loss(device, 1);
  const auto train = [&] {
    data::Batch batch{.labels = labels.span(), .active = net.active, .frames_with_loss = net.batch};
    if (net.is_text())
      batch.tokens = labels.span();
    else
      batch.features = features.span();
    learner.descend(device, {batch}, step, loss.data());
  };
  return bench::best_step_s(device, seconds, train);
}

std::vector<std::uint32_t> windows(std::size_t length, std::uint32_t count) { return std::vector(length, count); }
std::vector<std::uint32_t> chunks(std::uint32_t count) { return std::vector<std::uint32_t>(106, count); }

std::vector<Net> nets_for(const backend::Device& device) {
  if (device.is_host())
    return {{"784-512-256-10:sigmoid", 64, 0.80},
            {"440-5x1024-1000:relu", 256, 0.90},
            {"40-5xblstm256-1000", 16 * 106, 0.75, chunks(16)},
            {"gpt:nano,vocabulary=65", 12 * 64, 0, windows(64, 12)},
            {"gpt:baby,vocabulary=65", 4 * 256, 0, windows(256, 4)},
            {"gpt:baby,vocabulary=65", 16 * 256, 0, windows(256, 16)},
            {"zoo:lenet5", 64, 0},
            {"zoo:resnet:depth=20", 128, 0.70},
            {"zoo:resnet50", 4, 0.70}};
  return {{"440-7x2048-18002:relu", 1024, 0.85},
          {"40-5xblstm256-9304", 64 * 106, 0, chunks(64)},
          {"zoo:resnet50", 64, 0},
          {"784-512-256-10:relu", 64, 0}};
}

}  // namespace

int main(int argc, char** argv) try {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const auto device = backend::make_device(argc > 2 ? argv[2] : "cpu");
  fmt::print("{}\n", device->is_host() ? backend::blas_description() : device->hardware());
  if (seconds <= 0) return 0;
  for (const Net& net : nets_for(*device)) {
    if (argc > 3 && net.model != argv[3]) continue;
    double sgemm = bench::sgemm_gflops(*device);
    double step_s = step_s_of(*device, net, seconds), theirs = 0;
    if (device->is_host()) {
      theirs = bench::peer_samples_per_s("torch_training.py",
                                         core::format("'{}' {} {} {}", net.model, net.batch, net.frames(), seconds));
      step_s = std::min(step_s, step_s_of(*device, net, seconds));
    }
    sgemm = std::max(sgemm, bench::sgemm_gflops(*device));
    const double samples_per_s = static_cast<double>(net.batch) / step_s;
    const double gflops = 1e-9 * needed_flops(net) * samples_per_s;
    fmt::print("{}, minibatch {}: {:.1f} samples/s, {:.1f} GF/s, SGEMM {:.1f} GF/s, fraction {:.3f}", net.model, net.batch,
               samples_per_s, gflops, sgemm, gflops / sgemm);
    fmt::print("{}\n", net.target > 0 ? core::format(" (target {:.2f})", net.target) : std::string{});
    if (device->is_host()) bench::print_peer("PyTorch", theirs, samples_per_s);
  }
  return 0;
} catch (const core::ConfigError& error) {
  fmt::print(stderr, "bench_training: {}\n", error.what());
  return 2;
}
