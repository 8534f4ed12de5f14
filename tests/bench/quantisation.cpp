// Throughput of gradient compression on one core of the device cpu: quantise, which keeps the error in a residual, and
// dequantise, in GB of float32 per second that both together take; selection and the other kernels. Beside them a plain copy
// of as many floats (read and written), measured in the same run.
//
//   bench_quantisation [rounds]
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "backend/device.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/orthonormalise.hpp"
#include "backend/kernels/quantise.hpp"
#include "backend/kernels/select.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"

using namespace paragrad;
using backend::Code;

namespace {

constexpr std::size_t elements = std::size_t{1} << 24;  // 64 MiB of float32
constexpr double gigabytes = 4e-9 * static_cast<double>(elements);

/// Time that this thread spent on a processor: on a shared machine the wall clock would also count its neighbours.
double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
void keep_least(double& least_s, const F& f) {
  const double begin_s = thread_s();
  f();
  least_s = std::min(least_s, thread_s() - begin_s);
}

struct Case {
  const char* name;
  backend::Quantiser quantiser;
  std::size_t rows;
  double quantise_s = std::numeric_limits<double>::infinity();
  double dequantise_s = std::numeric_limits<double>::infinity();
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  const auto device = backend::make_device("cpu");
  core::Arena x = device->allocate(elements), residual = device->allocate(elements), y = device->allocate(elements);
  const core::RandomStream random(1, core::Purpose::generator, 1);
  for (std::size_t i = 0; i < elements; ++i) x.span()[i] = static_cast<float>(2 * random.uniform(i) - 1);

  std::vector<Case> cases;
  for (const std::size_t rows : {2048u, 512u}) {
    cases.push_back({"1 bit, threshold 0", {Code::bits1, false}, rows});
    cases.push_back({"1 bit, threshold at the mean", {Code::bits1, true}, rows});
    cases.push_back({"2 bits", {Code::bits2}, rows});
    cases.push_back({"4 bits", {Code::bits4}, rows});
    cases.push_back({"8 bits", {Code::bits8}, rows});
    cases.push_back({"16 bits", {Code::bits16}, rows});
    cases.push_back({"fp16", {Code::fp16}, rows});
    cases.push_back({"bf16", {Code::bf16}, rows});
  }

  // Round after round over all cases: a neighbour on a shared machine disturbs some rounds only.
  double copy_s = std::numeric_limits<double>::infinity();
  double select_s = copy_s, scatter_s = copy_s, orthonormalise_s = copy_s, norm_s = copy_s;
  std::vector<std::byte> packed(4 * elements);
  for (int round = 0; round < rounds; ++round) {
    keep_least(copy_s, [&] { device->run(backend::Copy{x.span(), y.span()}); });
    for (Case& c : cases) {
      const std::size_t columns = elements / c.rows;
      const std::span<std::byte> to = std::span(packed).first(c.quantiser.packed_bytes(c.rows, columns));
      keep_least(c.quantise_s, [&] {
        device->run(backend::Quantise{c.quantiser, c.rows, columns, x.span(), residual.span(), to});
      });
      keep_least(c.dequantise_s, [&] { device->run(backend::Dequantise{c.quantiser, c.rows, columns, to, 0, y.span()}); });
    }
    const std::span<std::byte> pairs = std::span(packed).first(8 * (elements / 100));
    keep_least(select_s, [&] { device->run(backend::SelectLargest{elements / 100, x.span(), residual.span(), pairs}); });
    keep_least(scatter_s, [&] { device->run(backend::ScatterAdd{pairs, 0, y.span()}); });
    keep_least(norm_s, [&] { device->squared_norm(x.span()); });
    device->run(backend::Copy{x.span(), y.span()});
    keep_least(orthonormalise_s, [&] { device->run(backend::Orthonormalise{elements / 4, 4, y.span()}); });
  }

  const double copy_gbps = gigabytes / copy_s;
  fmt::print("copy of {:.0f} MB: {:.1f} GB/s\n", 1e3 * gigabytes, copy_gbps);
  for (const Case& c : cases) {
    const double both_gbps = gigabytes / (c.quantise_s + c.dequantise_s);
    fmt::print("{:<28}  columns of {:>4}: quantise {:5.1f}, dequantise {:5.1f}, both {:5.1f} GB/s, {:.2f} of the copy\n",
               c.name, c.rows, gigabytes / c.quantise_s, gigabytes / c.dequantise_s, both_gbps, both_gbps / copy_gbps);
  }
  fmt::print("{:<28}  select_largest {:.1f}, scatter_add {:.1f}, squared_norm {:.1f}, orthonormalise, rank 4, {:.2f} GB/s\n",
             "others (1 % selected)", gigabytes / select_s, gigabytes / scatter_s, gigabytes / norm_s,
             gigabytes / orthonormalise_s);
  return 0;
}
