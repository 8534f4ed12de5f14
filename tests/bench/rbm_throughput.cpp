// Throughput of contrastive divergence on one core of the device cpu, as a fraction of the rate of large matrix products
// (OpenBLAS) measured in the same run. Counted are the five products of CD-1, 2 flops per weight and sample each: up, down,
// up, and the statistics of both phases. What is timed is a whole update: both phases with their random numbers,
// reconstruction error, gradient, momentum, step. Beside it BernoulliRBM of scikit-learn (persistent chains, no momentum, no
// reconstruction error, the same five products) where a Python can import it.
//
//   bench_rbm [seconds]
#include <algorithm>
#include <cstdlib>
#include <string>

#include "backend/backend_info.hpp"
#include "core/format.hpp"
#include "rbm/rbm.hpp"
#include "tests/bench/peer.hpp"
#include "tests/bench/throughput.hpp"

using namespace paragrad;

namespace {

constexpr std::size_t batch = 100;
constexpr rbm::Shape shape{784, 500};
constexpr double target = 0.80;
constexpr double flops_per_sample = 5. * 2. * static_cast<double>(shape.visible * shape.hidden);

double update_s(backend::Device& device, const rbm::RbmOptions& options, double seconds) {
  rbm::Rbm machine(device, shape, options, batch);
  core::Arena parameters = device.allocate(shape.parameter_count()), velocity = device.allocate(shape.parameter_count());
  core::Arena v = device.allocate(batch * shape.visible);
  rbm::initialise(shape, 0.01, core::RandomStream(1, core::Purpose::initial_weights), parameters.span());
  bench::randomise(device, v.span(), 3);
  for (float& value : v.span()) value = std::max(0.f, value);
  std::vector<std::uint32_t> rows(batch);
  for (std::size_t i = 0; i < batch; ++i) rows[i] = static_cast<std::uint32_t>(i);
  rbm::Draws draws;
  backend::DeviceArray<backend::LossSum> error(device, 1);
  return bench::best_step_s(device, seconds, [&] {
    ++draws.epoch;
    machine.contrast(device, parameters.span(), v.span(), rows, draws, error.data());
    const nn::GradientSink::Descent descent{0.001f / batch, 0, parameters.span()};
    machine.gradient(device, {velocity.span(), 0.9f, descent}, [](core::Range) {});
  });
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const auto device = backend::make_device("cpu");
  fmt::print("{}\n", backend::blas_description());
  double sgemm = bench::sgemm_gflops(*device);
  const double divergent_s = update_s(*device, {}, seconds), persistent_s = update_s(*device, {.persistent = true}, seconds);
  sgemm = std::max(sgemm, bench::sgemm_gflops(*device));
  const double samples_per_s = batch / divergent_s, gflops = 1e-9 * flops_per_sample * samples_per_s;
  fmt::print(
      "{}x{}, minibatch {}, CD-1: {:.0f} samples/s, {:.1f} GF/s, SGEMM {:.1f} GF/s, fraction {:.3f} (target {:.2f})\n",
      shape.visible, shape.hidden, batch, samples_per_s, gflops, sgemm, gflops / sgemm, target);
  fmt::print("  persistent chains: {:.0f} samples/s\n", batch / persistent_s);
  const double theirs =
      bench::peer_samples_per_s("sklearn_rbm.py", core::format("{} {} {}", shape.visible, shape.hidden, batch));
  bench::print_peer("scikit-learn's BernoulliRBM", theirs, batch / persistent_s);
  return 0;
}
