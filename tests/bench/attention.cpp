// Attention alone, forward and backward, on one core of the device cpu: microseconds, and beside it the same of PyTorch
// (torch_attention.py), where `make peers` has installed it: its scaled_dot_product_attention, with the views that a model
// needs to come from a product's rows and back.
//
//   bench_attention [seconds per size]
#include "backend/kernels/attention.hpp"

#include <cstdlib>

#include "backend/device_array.hpp"
#include "core/format.hpp"
#include "tests/bench/peer.hpp"
#include "tests/bench/throughput.hpp"

using namespace paragrad;

namespace {

double pass_s(backend::Device& device, const backend::AttentionShape& shape, double seconds) {
  const std::size_t rows = shape.rows.size(), outputs = shape.outputs();
  core::Arena x = device.allocate(3 * rows * outputs), sums = device.allocate(rows * shape.heads),
              y = device.allocate(rows * outputs), dy = device.allocate(rows * outputs),
              dx = device.allocate(3 * rows * outputs);
  bench::randomise(device, x.span(), 1);
  bench::randomise(device, dy.span(), 2);
  return bench::best_step_s(device, seconds, [&] {
    device.run(backend::AttentionForward{shape, x.span(), sums.span(), y.span()});
    device.run(backend::AttentionBackward{shape, x.span(), sums.span(), y.span(), dy.span(), 0, dx.span()});
  });
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const auto device = backend::make_device("cpu");
  for (const backend::AttentionShape& shape :
       {backend::AttentionShape{{12, 64}, 4, 32}, backend::AttentionShape{{8, 256}, 6, 32},
        backend::AttentionShape{{8, 256}, 6, 64}}) {
    double ours_s = pass_s(*device, shape, seconds);
    const double theirs = bench::peer_samples_per_s(
        "torch_attention.py",
        core::format("{} {} {} {} {}", shape.rows.sequences, shape.heads, shape.rows.steps, shape.width, seconds));
    ours_s = std::min(ours_s, pass_s(*device, shape, seconds));
    const auto rows = static_cast<double>(shape.rows.size());
    fmt::print("attention, {} windows of {} with {} heads of {}: {:.0f} us forward and backward\n", shape.rows.sequences,
               shape.rows.steps, shape.heads, shape.width, 1e6 * ours_s);
    bench::print_peer("PyTorch", theirs, rows / ours_s);
  }
  return 0;
}
