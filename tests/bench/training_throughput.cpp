// Throughput of training on one core of the device cpu, as a fraction of the rate of large matrix products (OpenBLAS)
// measured in the same run. Counted are needed multiplications only: 2 flops per weight and sample forward, 2 for its
// gradient, 2 for the gradient of its input except in the first layer.
//
//   training_throughput [seconds per net]
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend_info.hpp"
#include "backend/kernels.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"

using namespace paragrad;
using namespace paragrad::backend;

namespace {

/// Time that this thread spent on a processor: on a shared machine the wall clock would also count its neighbours.
double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Net {
  std::string name;
  std::vector<std::size_t> widths;
  Activation hidden;
  std::size_t batch;
  double target;
};

core::Arena random_arena(const Device& device, std::size_t count, float scale, std::uint32_t stream) {
  const core::RandomStream random(1, core::Purpose::generator, stream);
  core::Arena arena = device.allocate(count);
  for (std::size_t i = 0; i < count; ++i) arena.span()[i] = scale * static_cast<float>(2 * random.uniform(i) - 1);
  return arena;
}

struct Layer {
  std::size_t in, out;
  std::span<float> w, bias, w_momentum, bias_momentum;
  core::Arena output, gradient;  // [batch][out]
};

/// A multilayer perceptron whose gradients are accumulated straight into the momentum.
class Trainer {
 public:
  Trainer(Device& device, const Net& net) : device_(device), net_(net), labels_(net.batch) {
    std::size_t count = 0;
    for (std::size_t l = 0; l + 1 < net.widths.size(); ++l) count += (net.widths[l] + 1) * net.widths[l + 1];
    parameters_ = random_arena(device, count, 0.05f, 1);
    momentum_ = device.allocate(count);
    x_ = random_arena(device, net.batch * net.widths[0], 1, 2);
    for (std::size_t s = 0; s < net.batch; ++s) labels_[s] = static_cast<std::int32_t>(s % net.widths.back());
    std::size_t used = 0;
    const auto take = [&](core::Arena& arena, std::size_t n) { return arena.span().subspan(used, n); };
    for (std::size_t l = 0; l + 1 < net.widths.size(); ++l) {
      Layer layer{net.widths[l], net.widths[l + 1], {}, {}, {}, {}, {}, {}};
      layer.w = take(parameters_, layer.in * layer.out);
      layer.w_momentum = take(momentum_, layer.in * layer.out);
      used += layer.in * layer.out;
      layer.bias = take(parameters_, layer.out);
      layer.bias_momentum = take(momentum_, layer.out);
      used += layer.out;
      layer.output = device.allocate(net.batch * layer.out);
      layer.gradient = device.allocate(net.batch * layer.out);
      layers_.push_back(std::move(layer));
    }
  }

  double step() {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      Layer& layer = layers_[l];
      const Activation f = l + 1 < layers_.size() ? net_.hidden : Activation::identity;
      device_.affine_forward(net_.batch, layer.in, layer.out, input(l), layer.w, layer.bias, f, layer.output.span());
    }
    Layer& last = layers_.back();
    device_.copy(last.output.span(), last.gradient.span());
    const LossSum loss = device_.softmax_cross_entropy(net_.batch, last.out, labels_, last.gradient.span());
    for (std::size_t l = layers_.size(); l-- > 0;) backward(l);
    return loss.loss;
  }

  /// Flops per sample that the mathematics needs.
  double needed_flops() const {
    double flops = 0;
    for (std::size_t l = 0; l < layers_.size(); ++l)
      flops += (l == 0 ? 4. : 6.) * static_cast<double>(layers_[l].in * layers_[l].out);
    return flops;
  }

 private:
  std::span<const float> input(std::size_t l) const { return l == 0 ? x_.span() : layers_[l - 1].output.span(); }

  void backward(std::size_t l) {
    Layer& layer = layers_[l];
    const auto dz = layer.gradient.span();
    if (l > 0)
      device_.affine_backward_input(net_.batch, layer.in, layer.out, dz, layer.w, input(l), net_.hidden,
                                    layers_[l - 1].gradient.span());
    device_.bias_gradient(net_.batch, layer.out, dz, momentum, layer.bias_momentum);
    device_.descend(rate(), 0, layer.bias_momentum, layer.bias);
    device_.affine_descend(net_.batch, layer.in, layer.out, input(l), dz, momentum, rate(), 0, layer.w_momentum, layer.w);
  }

  float rate() const { return 0.01f / static_cast<float>(net_.batch); }

  static constexpr float momentum = 0.9f;

  Device& device_;
  const Net& net_;
  std::vector<std::int32_t> labels_;
  core::Arena parameters_, momentum_, x_;
  std::vector<Layer> layers_;
};

double sgemm_gflops(Device& device, std::size_t n) {
  const core::Arena a = random_arena(device, n * n, 1, 1), b = random_arena(device, n * n, 1, 2);
  core::Arena c = device.allocate(n * n);
  double best_s = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin_s = thread_s();
    device.gemm(Transpose::no, Transpose::no, n, n, n, a.span(), b.span(), 0, c.span());
    best_s = std::min(best_s, thread_s() - begin_s);
  }
  return 2e-9 * static_cast<double>(n * n * n) / best_s;
}

/// Best time of one step, over groups of steps of about 10 ms.
double best_step_s(Trainer& trainer, double seconds) {
  trainer.step();
  const double first_s = thread_s();
  trainer.step();
  const int group = std::max(1, static_cast<int>(0.01 / (thread_s() - first_s)));
  double best_s = 1e9;
  while (thread_s() - first_s < seconds) {
    const double begin_s = thread_s();
    for (int i = 0; i < group; ++i) trainer.step();
    best_s = std::min(best_s, (thread_s() - begin_s) / group);
  }
  return best_s;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const std::vector<Net> nets = {
      {"784-512-256-10 sigmoid, minibatch 64", {784, 512, 256, 10}, Activation::sigmoid, 64, 0.80},
      {"440-5x1024-1000 relu, minibatch 256", {440, 1024, 1024, 1024, 1024, 1024, 1000}, Activation::relu, 256, 0.90}};
  const auto device = make_device("cpu");
  fmt::print("{}\n", blas_description());
  bool reached = true;
  for (const Net& net : nets) {
    Trainer trainer(*device, net);
    double sgemm = std::max(sgemm_gflops(*device, 1024), sgemm_gflops(*device, 2048));
    const double step_s = best_step_s(trainer, seconds);
    sgemm = std::max({sgemm, sgemm_gflops(*device, 1024), sgemm_gflops(*device, 2048)});
    const double samples_per_s = static_cast<double>(net.batch) / step_s;
    const double gflops = 1e-9 * trainer.needed_flops() * samples_per_s;
    reached = reached && gflops / sgemm >= net.target;
    fmt::print("{}: {:.0f} samples/s, {:.1f} GF/s, SGEMM {:.1f} GF/s, fraction {:.3f} (target {:.2f})\n", net.name,
               samples_per_s, gflops, sgemm, gflops / sgemm, net.target);
  }
  return reached ? 0 : 1;
}
