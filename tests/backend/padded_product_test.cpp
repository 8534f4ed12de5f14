// Products of padded copies, run here, against products of the matrices as they are.
#include "backend/gpu_kernels/padded_product.hpp"

#include "catch.hpp"
#include "tests/backend/host_gpu.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;
using gpu_kernels::Multiplication;
using gpu_kernels::PaddedProduct;

namespace {

/// Some m x n x k, stored with `gap` more elements between rows.
struct Product {
  std::vector<float> a, b, c, bias;
  Multiplication call;

  Product(std::size_t m, std::size_t n, std::size_t k, Transpose ta, Transpose tb, float keep, bool has_bias,
          std::size_t gap) {
    const std::size_t a_row = (ta == Transpose::no ? k : m) + gap, b_row = (tb == Transpose::no ? n : k) + gap;
    a = random_numbers((ta == Transpose::no ? m : k) * a_row, 1);
    b = random_numbers((tb == Transpose::no ? k : n) * b_row, 2);
    c = random_numbers(m * (n + gap), 3);
    bias = random_numbers(n, 4);
    call = {m, n, k, {a.data(), a_row, ta}, {b.data(), b_row, tb}, keep, c.data(), n + gap};
    if (!has_bias) return;
    call.bias = bias.data();
    call.f = Activation::relu;
  }
};

}  // namespace

TEST_CASE("a product of padded copies has the bits of the product itself", "[backend][gpu_kernels]") {
  HostRuntime host(false);
  const auto run = [&](const auto& kernel) { host.run(kernel); };
  const auto ta = GENERATE(Transpose::no, Transpose::yes), tb = GENERATE(Transpose::no, Transpose::yes);
  const float keep = GENERATE(0.f, 0.5f);
  const bool has_bias = GENERATE(false, true);
  for (const std::size_t gap : {0u, 1u, 4u})
    for (const auto& [m, n, k] :
         {std::array<std::size_t, 3>{4, 8, 12}, {5, 8, 12}, {4, 7, 12}, {4, 8, 11}, {3, 6, 9}, {1, 1, 1}}) {
      Product plain(m, n, k, ta, tb, keep, has_bias, gap), other(m, n, k, ta, tb, keep, has_bias, gap);
      host.multiply(plain.call);
      PaddedProduct padded(other.call);
      std::vector<float> memory(padded.floats(), std::numeric_limits<float>::quiet_NaN());
      padded.copy_from(run, memory.data());
      for (const auto& input : {padded.product().a, padded.product().b}) CHECK(input.row % 4 == 0);
      CHECK(padded.product().c_row % 4 == 0);
      host.multiply(padded.product());
      padded.copy_back(run);
      CAPTURE(m, n, k, gap);
      CHECK(same_bits(other.c, plain.c));
    }
}

TEST_CASE("a product is padded where that pays", "[backend][gpu_kernels]") {
  const auto pays = [](std::size_t m, std::size_t n, std::size_t k) {
    return PaddedProduct::pays({m, n, k, {nullptr, k}, {nullptr, n}, 0, nullptr, n});
  };
  CHECK(pays(1024, 18002, 2048));
  CHECK_FALSE(pays(1024, 18004, 2048));  // comes in fours
  CHECK_FALSE(pays(64, 18002, 2048));    // each number of the weights is used too rarely
  CHECK_FALSE(pays(512, 1002, 512));     // a few microseconds
}
