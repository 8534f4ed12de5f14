// Throughput of training on one core of the device cpu, as a fraction of the rate of large matrix products (OpenBLAS)
// measured in the same run. Counted are needed multiplications only: 2 flops per weight and sample forward, 2 for its
// gradient, 2 for the gradient of its input except in the first layer. What is timed is the training loop's own step
// (train::NetworkLearner: forward, loss, backward, momentum update), without reading data.
//
//   bench_training [seconds per net]
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend_info.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "train/network_learner.hpp"

using namespace paragrad;

namespace {

/// Time that this thread spent on a processor: on a shared machine the wall clock would also count its neighbours.
double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Net {
  std::string model;
  std::size_t batch;
  double target;
};

void randomise(std::span<float> values, std::uint32_t stream) {
  const core::RandomStream random(1, core::Purpose::generator, stream);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(2 * random.uniform(i) - 1);
}

/// Flops per sample that the mathematics needs.
double needed_flops(const std::string& model) {
  double flops = 0;
  const auto layers = nn::make_layers(model);
  for (const auto& layer : layers)
    flops += (layer == layers.front() ? 4. : 6.) * static_cast<double>(layer->inputs() * layer->outputs());
  return flops;
}

double sgemm_gflops(backend::Device& device, std::size_t n) {
  core::Arena a = device.allocate(n * n), b = device.allocate(n * n), c = device.allocate(n * n);
  randomise(a.span(), 1);
  randomise(b.span(), 2);
  double best_s = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin_s = thread_s();
    device.gemm(backend::Transpose::no, backend::Transpose::no, n, n, n, a.span(), b.span(), 0, c.span());
    best_s = std::min(best_s, thread_s() - begin_s);
  }
  return 2e-9 * static_cast<double>(n * n * n) / best_s;
}

/// Best time of one step, over groups of steps of about 10 ms.
double best_step_s(backend::Device& device, const Net& net, double seconds) {
  train::Options options;
  options.model = net.model;
  const auto network = std::make_shared<const nn::Network>(nn::make_layers(options.model));
  train::NetworkLearner learner(device, network, options, net.batch, false);
  learner.initialise(1);
  core::Arena features = device.allocate(net.batch * learner.inputs());
  randomise(features.span(), 3);
  std::vector<std::int32_t> labels(net.batch);
  for (std::size_t s = 0; s < net.batch; ++s) labels[s] = static_cast<std::int32_t>(s % learner.outputs());
  const optim::Step step{0.01f / static_cast<float>(net.batch), 0};
  const auto train = [&] {
    learner.descend(
        net.batch,
        [&](std::size_t) {
          return data::Batch{features.span(), labels};
        },
        step);
  };

  train();
  const double first_s = thread_s();
  train();
  const int group = std::max(1, static_cast<int>(0.01 / (thread_s() - first_s)));
  double best_s = 1e9;
  while (thread_s() - first_s < seconds) {
    const double begin_s = thread_s();
    for (int i = 0; i < group; ++i) train();
    best_s = std::min(best_s, (thread_s() - begin_s) / group);
  }
  return best_s;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const std::vector<Net> nets = {{"784-512-256-10:sigmoid", 64, 0.80}, {"440-5x1024-1000:relu", 256, 0.90}};
  const auto device = backend::make_device("cpu");
  fmt::print("{}\n", backend::blas_description());
  for (const Net& net : nets) {
    double sgemm = std::max(sgemm_gflops(*device, 1024), sgemm_gflops(*device, 2048));
    const double step_s = best_step_s(*device, net, seconds);
    sgemm = std::max({sgemm, sgemm_gflops(*device, 1024), sgemm_gflops(*device, 2048)});
    const double samples_per_s = static_cast<double>(net.batch) / step_s;
    const double gflops = 1e-9 * needed_flops(net.model) * samples_per_s;
    fmt::print("{}, minibatch {}: {:.0f} samples/s, {:.1f} GF/s, SGEMM {:.1f} GF/s, fraction {:.3f} (target {:.2f})\n",
               net.model, net.batch, samples_per_s, gflops, sgemm, gflops / sgemm, net.target);
  }
  return 0;
}
