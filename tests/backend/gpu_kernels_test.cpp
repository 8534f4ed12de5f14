// GPU kernels of codes, selection, sequences, packed filters and orthonormal columns, run here, against the reference's or
// plain loops.
#include <cstring>

#include "backend/gpu_kernels/ctc.hpp"
#include "backend/gpu_kernels/orthonormalise.hpp"
#include "backend/gpu_kernels/packed_convolution.hpp"
#include "backend/gpu_kernels/quantise.hpp"
#include "backend/gpu_kernels/select.hpp"
#include "backend/kernels/select.hpp"
#include "catch.hpp"
#include "tests/backend/gpu_kernels_support.hpp"
#include "tests/backend/quantise_support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

using paragrad::backend::testing::same;

void put(std::vector<float>& numbers, const std::vector<float>& special) {
  for (std::size_t i = 0; i < special.size() && i < numbers.size(); ++i) numbers[(7 * i + 3) % numbers.size()] = special[i];
}

using PackedBytes = std::vector<std::byte>;
PackedBytes poisoned_bytes(std::size_t count) { return PackedBytes(count, std::byte{0xA5}); }

template <class Run>
Coded grid_code(const Run& run, const Quantiser& quantiser, std::size_t rows, std::size_t columns,
                const std::vector<float>& x, const std::vector<float>& before) {
  Coded coded{poisoned_bytes(quantiser.packed_bytes(rows, columns)), before, poisoned(x.size())};
  Memory scratch(gpu_kernels::quantise_scratch(quantiser, columns));
  gpu_kernels::quantise(run, quantiser, rows, columns, x.data(), before.empty() ? nullptr : coded.residual.data(),
                        coded.packed.data(), &coded.saturated, scratch.data());
  gpu_kernels::dequantise(run, quantiser, rows, columns, coded.packed.data(), 0, coded.decoded.data());
  gpu_kernels::dequantise(run, quantiser, rows, columns, coded.packed.data(), 1, coded.decoded.data());
  return coded;
}

Coded reference_code(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::vector<float>& x,
                     const std::vector<float>& before) {
  Coded coded{poisoned_bytes(quantiser.packed_bytes(rows, columns)), before, poisoned(x.size())};
  Quantise{quantiser, rows, columns, x, coded.residual, coded.packed, {&coded.saturated, 1}}.reference();
  Dequantise{quantiser, rows, columns, coded.packed, 0, coded.decoded}.reference();
  Dequantise{quantiser, rows, columns, coded.packed, 1, coded.decoded}.reference();
  return coded;
}

bool same(const Coded& a, const Coded& b) {
  return a.packed == b.packed && same(a.residual, b.residual) && same(a.decoded, b.decoded) && a.saturated == b.saturated;
}

/// f(quantiser, rows, columns)
template <class F>
void over_matrices(const F& f) {
  for (const Quantiser& quantiser : quantisers)
    for (const std::size_t rows : {0u, 1u, 31u, 33u, 257u})
      for (const std::size_t columns : {1u, 5u, 40u}) f(quantiser, rows, columns);
  f(Quantiser{Code::bits1, true}, 9001, 2);
  f(Quantiser{Code::bits1}, 3, 5000);  // more than there are blocks
  f(Quantiser{.code = Code::fp16, .unit = 0x1p-16f}, 257, 5);
}

}  // namespace

TEST_CASE("codes of the GPU kernels are the reference's, bit for bit, where sums are exact", "[backend][gpu_kernels]") {
  over_matrices([](const Quantiser& quantiser, std::size_t rows, std::size_t columns) {
    for (const bool remember : {false, true}) {
      const auto x = coarse_numbers(rows * columns, 1);
      const auto before = remember ? coarse_numbers(x.size(), 2) : std::vector<float>{};
      const Coded expected = reference_code(quantiser, rows, columns, x, before);
      CHECK(same(grid_code(forwards, quantiser, rows, columns, x, before), expected));
      CHECK(same(grid_code(backwards, quantiser, rows, columns, x, before), expected));
    }
  });
}

TEST_CASE("codes of the GPU kernels are the reference's for numbers of all kinds", "[backend][gpu_kernels]") {
  const std::vector<float> special =
      GENERATE(std::vector<float>{not_a_number}, std::vector<float>{infinity, 1}, std::vector<float>{-infinity},
               std::vector<float>{1e-40f, -1e-41f}, std::vector<float>{3e38f, -3e38f}, std::vector<float>{-0.f, 65520.f});
  over_matrices([&](const Quantiser& quantiser, std::size_t rows, std::size_t columns) {
    for (const bool others : {false, true}) {
      if (others && special[0] == 3e38f) continue;  // no double has their sum
      auto x = others ? coarse_numbers(rows * columns, 1) : std::vector<float>(rows * columns);
      put(x, special);
      for (const auto& before : {std::vector<float>{}, std::vector<float>(x.size())}) {
        const Coded expected = reference_code(quantiser, rows, columns, x, before);
        CHECK(same(grid_code(forwards, quantiser, rows, columns, x, before), expected));
      }
    }
  });
}

TEST_CASE("codes of the GPU kernels agree with the reference's to rounding", "[backend][gpu_kernels]") {
  over_matrices([](const Quantiser& quantiser, std::size_t rows, std::size_t columns) {
    const auto x = normal_numbers(rows * columns, 1), before = normal_numbers(rows * columns, 2);
    const Coded mine = grid_code(forwards, quantiser, rows, columns, x, before);
    const Coded theirs = reference_code(quantiser, rows, columns, x, before);
    CHECK(relative_distance(mine.decoded, theirs.decoded) < 1e-4);
    CHECK(relative_distance(mine.residual, theirs.residual) < 1e-3);
    CHECK(same(mine, grid_code(backwards, quantiser, rows, columns, x, before)));
  });
}

namespace {

struct Selected {
  PackedBytes packed;
  std::vector<float> residual;

  bool operator==(const Selected& other) const { return packed == other.packed && same(residual, other.residual); }
};

template <class Run>
Selected grid_select(const Run& run, std::size_t keep, const std::vector<float>& x, const std::vector<float>& before) {
  Selected selected{poisoned_bytes(8 * keep), before};
  Memory scratch(gpu_kernels::select_scratch(x.size()));
  gpu_kernels::select_largest(run, keep, x.size(), x.data(), before.empty() ? nullptr : selected.residual.data(),
                              selected.packed.data(), scratch.data());
  return selected;
}

Selected reference_select(std::size_t keep, const std::vector<float>& x, const std::vector<float>& before) {
  Selected selected{poisoned_bytes(8 * keep), before};
  SelectLargest{keep, x, selected.residual, selected.packed}.reference();
  return selected;
}

void check_selection(const std::vector<float>& x) {
  const std::size_t count = x.size();
  for (const std::size_t keep : {std::size_t{0}, std::min<std::size_t>(count, 1), count / 100, count / 7, count / 2, count})
    for (const auto& before : {std::vector<float>{}, coarse_numbers(count, 5)}) {
      const Selected expected = reference_select(keep, x, before);
      CHECK(grid_select(forwards, keep, x, before) == expected);
      CHECK(grid_select(backwards, keep, x, before) == expected);
    }
}

const std::vector<std::size_t> element_counts = {0, 1, 2, 31, 257, 4095, 4096, 4097, 70'001};

}  // namespace

TEST_CASE("the GPU kernel selects what the reference selects", "[backend][gpu_kernels]") {
  for (const std::size_t count : element_counts) check_selection(random_numbers(count, 1));
}

TEST_CASE("of equal sizes the GPU kernel selects the first", "[backend][gpu_kernels]") {
  for (const std::size_t count : element_counts) {
    check_selection(std::vector<float>(count));
    check_selection(std::vector<float>(count, -2.5f));
    check_selection(coarse_numbers(count, 1));
  }
}

TEST_CASE("the GPU kernel selects NaN before infinity, and tells denormal numbers apart", "[backend][gpu_kernels]") {
  const float large_nan = std::bit_cast<float>(0xFFC12345u);
  for (const std::size_t count : element_counts)
    for (auto x : {random_numbers(count, 1), std::vector<float>(count)}) {
      put(x, {not_a_number, infinity, 1e-40f, -infinity, -2e-40f, large_nan, -0.f, 1e-45f, 3e38f});
      check_selection(x);
    }
}

TEST_CASE("the GPU kernel adds pairs where they belong", "[backend][gpu_kernels]") {
  for (const std::size_t count : element_counts)
    for (const std::size_t keep : {std::size_t{0}, count / 7, count})
      for (const float kept : {0.f, 1.f}) {
        const PackedBytes packed = reference_select(keep, random_numbers(count, 1), {}).packed;
        auto mine = kept == 0 ? poisoned(count) : random_numbers(count, 2), last_first = mine, expected = mine;
        gpu_kernels::scatter_add(forwards, keep, packed.data(), kept, count, mine.data());
        gpu_kernels::scatter_add(backwards, keep, packed.data(), kept, count, last_first.data());
        ScatterAdd{packed, kept, expected}.reference();
        CHECK(same_bits(mine, expected));
        CHECK(same_bits(last_first, expected));
      }
}

namespace {

struct Sequences {
  std::size_t classes;
  std::vector<std::uint32_t> active;
  std::vector<std::int32_t> labels;
  std::vector<float> logits;
};

struct Losses {
  LossSum sum;
  std::vector<float> gradient;
};

/// The longest first. `density` labels for each frame, of few classes, so that neighbours are equal now and then.
Sequences random_streamss(std::size_t classes, const std::vector<std::size_t>& lengths, double density) {
  Sequences batch{classes, {}, {}, {}};
  for (std::size_t step = 0; step < lengths[0]; ++step)
    batch.active.push_back(static_cast<std::uint32_t>(
        std::count_if(lengths.begin(), lengths.end(), [&](std::size_t length) { return length > step; })));
  for (std::size_t step = 0; step < batch.active.size(); ++step)
    for (std::size_t s = 0; s < batch.active[step]; ++s) {
      const bool has = static_cast<double>(step) < density * static_cast<double>(lengths[s]);
      const auto label = static_cast<std::int32_t>((7 * step * step + 3 * s) % std::min<std::size_t>(classes - 1, 5));
      batch.labels.push_back(has ? label : no_label);
    }
  batch.logits = random_numbers(batch.labels.size() * classes, 1);
  for (float& logit : batch.logits) logit = 6 * logit;
  return batch;
}

template <class Run>
Losses grid_ctc(const Run& run, const Sequences& batch) {
  Losses losses{{.loss = 1, .errors = 2}, batch.logits};
  Memory scratch(gpu_kernels::ctc_scratch(batch.classes, batch.active));
  gpu_kernels::ctc(run, batch.classes, batch.active, batch.active.data(), batch.labels.data(), losses.gradient.data(),
                   scratch.data(), &losses.sum);
  losses.sum.loss -= 1;
  losses.sum.errors -= 2;
  return losses;
}

Losses reference_ctc(const Sequences& batch) {
  Losses losses{{}, batch.logits};
  Ctc{batch.classes, Steps(batch.active), batch.labels, losses.gradient, &losses.sum}.reference();
  return losses;
}

bool same(const Losses& a, const Losses& b) {
  return std::bit_cast<std::uint64_t>(a.sum.loss) == std::bit_cast<std::uint64_t>(b.sum.loss) &&
         a.sum.errors == b.sum.errors && same(a.gradient, b.gradient);
}

void check_ctc(const Sequences& batch) {
  const Losses mine = grid_ctc(forwards, batch), expected = reference_ctc(batch);
  if (std::isfinite(expected.sum.loss))
    CHECK(mine.sum.loss == Approx(expected.sum.loss).epsilon(1e-6));
  else
    CHECK((std::isnan(expected.sum.loss) ? std::isnan(mine.sum.loss) : mine.sum.loss == expected.sum.loss));
  CHECK(mine.sum.errors == expected.sum.errors);
  double worst = 0;
  for (std::size_t i = 0; i < mine.gradient.size(); ++i) {
    const float a = mine.gradient[i], b = expected.gradient[i];
    if (!std::isnan(a) || !std::isnan(b)) worst = std::isnan(a - b) ? 1 : std::max<double>(worst, std::abs(a - b));
  }
  CHECK(worst < 1e-6);
  CHECK(same(mine, grid_ctc(backwards, batch)));
}

}  // namespace

TEST_CASE("ctc of the GPU kernels agrees with the reference", "[backend][gpu_kernels]") {
  const std::size_t classes = GENERATE(2u, 3u, 40u, 300u);
  for (const double density : {0., 0.2, 0.5}) {
    check_ctc(random_streamss(classes, {1}, density));
    check_ctc(random_streamss(classes, {57, 30, 30, 9, 1}, density));
  }
  check_ctc(random_streamss(classes, {400, 300}, 0.45));  // more states than threads
}

TEST_CASE("ctc of the GPU kernels knows what cannot be said, and what is no number", "[backend][gpu_kernels]") {
  check_ctc(random_streamss(4, {12, 12, 3}, 1));  // a label for each frame, some of them equal
  auto batch = random_streamss(4, {9, 7, 7, 2}, 0.3);
  const float bad = GENERATE(as<float>{}, not_a_number, infinity, -infinity, 3e38f, -3e38f);
  for (const std::size_t frame : {0u, 8u, 24u}) {
    auto broken = batch;
    broken.logits[frame * 4 + frame % 4] = bad;
    check_ctc(broken);
    for (std::size_t k = 0; k < 4; ++k) broken.logits[frame * 4 + k] = bad;
    check_ctc(broken);
  }
}

TEST_CASE("a label that names no class makes the GPU kernels' loss NaN", "[backend][gpu_kernels]") {
  auto batch = random_streamss(4, {9, 7}, 0.5);
  batch.labels[2] = GENERATE(3, 100, -2);  // 3 is the blank
  CHECK(std::isnan(grid_ctc(forwards, batch).sum.loss));
  CHECK(same(grid_ctc(forwards, batch), grid_ctc(backwards, batch)));
}

TEST_CASE("the GPU kernel adds nothing where there are no sequences", "[backend][gpu_kernels]") {
  CHECK(grid_ctc(forwards, {4, {}, {}, {}}).sum.loss == 0);
}

TEST_CASE("columns of the GPU kernels become orthonormal as the reference's do", "[backend][gpu_kernels]") {
  const std::size_t rank = GENERATE(1u, 4u, 9u);
  for (const std::size_t rows : {1u, 9u, 33u, 512u, 1777u}) {
    auto mine = random_numbers(rows * rank, 1);
    if (rows > 20 && rank > 3)
      for (std::size_t r = 0; r < rows; ++r) {  // 1 is zero, 2 twice the first
        mine[r * rank + 1] = 0;
        mine[r * rank + 2] = 2 * mine[r * rank];
      }
    auto last_first = mine, expected = mine;
    forwards(gpu_kernels::OrthonormaliseInOneBlock{rows, rank, mine.data()});
    backwards(gpu_kernels::OrthonormaliseInOneBlock{rows, rank, last_first.data()});
    Orthonormalise{rows, rank, expected}.reference();
    if (rows >= rank) CHECK(distance(mine, expected) < 1e-6);
    CHECK(same_bits(mine, last_first));
  }
}

TEST_CASE("the GPU kernel does not take a NaN for a dependent column", "[backend][gpu_kernels]") {
  auto matrix = random_numbers(40, 1);
  matrix[5] = not_a_number;
  forwards(gpu_kernels::OrthonormaliseInOneBlock{20, 2, matrix.data()});
  CHECK(std::isnan(matrix[5]));
}

TEST_CASE("filters are packed and their gradients unpacked in tiles of any size", "[backend][gpu_kernels]") {
  const std::size_t inner = GENERATE(1u, 31u, 32u, 33u, 65u), outputs = GENERATE(1u, 31u, 32u, 33u, 65u);
  const bool reversed = GENERATE(false, true);
  const std::vector<float> w = random_numbers(inner * outputs, 1), gradient = random_numbers(inner * outputs, 2);
  std::vector<float> packed = poisoned(w.size()), set = poisoned(w.size()), added = w;
  const auto run = [&](const auto& kernel) { gpu_kernels::run_on_host(kernel, reversed); };
  run(gpu_kernels::PackFilters{inner, outputs, w.data(), packed.data()}.in_tiles());
  run(gpu_kernels::AddPackedFilters{inner, outputs, gradient.data(), 0, set.data()}.in_tiles());
  run(gpu_kernels::AddPackedFilters{inner, outputs, gradient.data(), 0.5f, added.data()}.in_tiles());
  for (std::size_t i = 0; i < inner; ++i)
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t stored = i * outputs + o, at = o * inner + i;
      if (packed[at] == w[stored] && set[stored] == gradient[at] && added[stored] == 0.5f * w[stored] + gradient[at])
        continue;
      CAPTURE(inner, outputs, i, o);
      CHECK(packed[at] == w[stored]);
      CHECK(set[stored] == gradient[at]);
      CHECK(added[stored] == 0.5f * w[stored] + gradient[at]);
    }
  CHECK(packed.size() == w.size());
}
