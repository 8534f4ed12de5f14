#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/fill.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "comm/compression/striped.hpp"
#include "comm/compression_support.hpp"
#include "comm/contributions.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "thread_communicator.hpp"

using namespace paragrad;
using comm::Communicator;
using comm::GradientSum;
using comm::Grain;
using namespace paragrad::comm::testing;

TEST_CASE("what is sent and what is kept is all there was", "[comm][compression]") {
  const std::string name = GENERATE(from_range(lossy_ones()));
  const bool at_mean = name == "bits:1" ? GENERATE(false, true) : false;
  const int workers = GENERATE(1, 2, 5);
  CAPTURE(name, at_mean, workers);
  const Outcome outcome = sum_up(workers, 12, name, {{"quantise-threshold", at_mean ? "mean" : "zero"}});
  CHECK(total(outcome.delivered) + outcome.kept == Approx(total(outcome.wanted)).margin(2e-3));
}

TEST_CASE("without error feedback nothing is kept, and much is lost", "[comm][compression]") {
  const Outcome with = sum_up(3, 60, "bits:1");
  const Outcome without = sum_up(3, 60, "bits:1", {{"error-feedback", false}});
  CHECK(without.kept == 0);
  const auto lost = [](const Outcome& outcome) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += std::abs(outcome.delivered[i] - outcome.wanted[i]);
    return sum;
  };
  CHECK(lost(with) < 0.5 * lost(without));
}

TEST_CASE("all workers end with the same bits, whoever is slow", "[comm][compression]") {
  const std::string name = GENERATE(from_range(lossy_ones()));
  const int workers = GENERATE(2, 3, 8);
  CAPTURE(name, workers);
  const Outcome outcome = sum_up(workers, 3, name);
  for (const auto& sum : outcome.sums) CHECK(sum == outcome.sums.front());
}

TEST_CASE("stripes are summed in rank order", "[comm][compression]") {
  const int workers = GENERATE(1, 2, 3, 7);
  const Outcome stripes = sum_up(workers, 1, [] {
    return std::make_unique<comm::compression::Striped>(std::make_unique<Verbatim>(),
                                                        comm::compression::LossyOptions{false});
  });
  const Outcome server = sum_up(workers, 1, "none", {{"collective", "parameter_server"}});
  CHECK(stripes.sums == server.sums);
}

TEST_CASE("with one bit a thirtieth of the bytes is sent of columns of 512, with no hot spot for a vector",
          "[comm][compression]") {
  const int workers = 4;
  const std::size_t rows = GENERATE(512u, 513u, 545u, 960u, 2048u);
  const std::vector<core::Matrix> layout{{0, {rows, 64}}, {rows * 64, {rows, 1}}};
  const std::size_t length = rows * 65;
  std::vector<std::uint64_t> bytes(workers);
  comm::testing::run_threads(workers, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum("bits:1");
    const std::vector<core::Range> all{{0, length}};
    sum->start(comm, layout, all);
    std::vector<float> gradient(length, 1);
    (*sum)(comm, all.front(), gradient);
    bytes[static_cast<std::size_t>(comm.rank())] = comm.traffic().sent_bytes;
  });
  const double as_floats = 2. * (workers - 1) / workers * static_cast<double>(length * sizeof(float));
  for (const std::uint64_t sent : bytes) CHECK(static_cast<double>(sent) <= as_floats / 30 * 1.05);
  CHECK(static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0})) <= workers * as_floats / 30);
}

TEST_CASE("a gradient is cut between columns or matrices", "[comm][compression]") {
  CHECK(comm::cut_below(layout, Grain::element, 40) == 40);
  CHECK(comm::cut_below(layout, Grain::column, 40) == 33);
  CHECK(comm::cut_below(layout, Grain::column, 66) == 66);
  CHECK(comm::cut_below(layout, Grain::column, 240) == 231);
  CHECK(comm::cut_below(layout, Grain::column, 271) == 269);
  CHECK(comm::cut_below(layout, Grain::matrix, 271) == 264);
  CHECK(comm::cut_below(layout, Grain::matrix, length) == length);
  for (std::size_t begin = 0; begin < length; ++begin) {
    const std::size_t from = comm::cut_below(layout, Grain::column, begin),
                      to = comm::cut_below(layout, Grain::column, length / 2 + begin / 2);
    std::size_t covered = 0;
    for (const core::Matrix& part : comm::columns_within(layout, {from, to})) {
      CHECK(part.begin == covered);
      covered += part.shape.size();
    }
    CHECK(covered == to - from);
  }
}

TEST_CASE("with all elements or a full rank nothing is left out", "[comm][compression]") {
  const std::string name = GENERATE("top_k:1", "power_sgd:33", "chunk_top_k:16,16");
  const Outcome exact = sum_up(3, 2, "none"), outcome = sum_up(3, 2, name);
  for (std::size_t i = 0; i < length; ++i)
    CHECK(outcome.sums.front()[i] == Approx(exact.sums.front()[i]).epsilon(1e-5).margin(1e-5));
}

TEST_CASE("a share that is a whole number of elements is not rounded up to the next", "[comm][compression]") {
  const double share = GENERATE(0.01, 0.05, 0.07, 0.14, 0.28, 0.29, 0.55, 0.57, 0.58, 1.);
  const std::vector<core::Matrix> one{{0, {100, 2}}};
  const std::vector<core::Range> all{{0, 200}};  // two stripes
  comm::testing::run_threads(2, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum(core::format("top_k:{}", share));
    sum->start(comm, one, all);
    std::vector<float> gradient(200, 1);
    (*sum)(comm, all.front(), gradient);
    if (comm.traffic().sent_bytes != 2 * 8 * static_cast<std::uint64_t>(std::lround(100 * share)))
      throw std::logic_error("another number of pairs");
  });
}

TEST_CASE("of every stripe the share to be sent is rounded up, so that none falls silent", "[comm][compression]") {
  const std::vector<core::Range> all{{0, length}};  // 626 elements, stripes of 156 and 157
  comm::testing::run_threads(4, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum("top_k:0.001");
    sum->start(comm, layout, all);
    std::vector<float> gradient(length, 1);
    (*sum)(comm, all.front(), gradient);
    // One pair of 8 bytes of each of the others' stripes, and one of the own stripe's sum to each of the others.
    if (comm.traffic().sent_bytes != 3 * 8 + 3 * 8) throw std::logic_error("not one pair to a stripe");
  });
}

TEST_CASE("a gradient of rank one arrives whole at rank one", "[comm][compression]") {
  const std::vector<core::Matrix> layout{{0, {40, 30}}};
  const std::vector<core::Range> all{{0, 1200}};
  comm::testing::run_threads(3, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum("power_sgd:1");
    sum->start(comm, layout, all);
    std::vector<float> gradient(1200);
    for (std::size_t column = 0; column < 30; ++column)
      for (std::size_t row = 0; row < 40; ++row)
        gradient[column * 40 + row] = static_cast<float>(comm.rank() + 1) * std::sin(0.3f * static_cast<float>(column)) *
                                      std::cos(0.7f * static_cast<float>(row));
    const std::vector<float> mine = gradient;
    (*sum)(comm, all.front(), gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      if (gradient[i] != Approx(6 / static_cast<float>(comm.rank() + 1) * mine[i]).margin(1e-4))
        throw std::logic_error("a gradient of rank one was not summed");
  });
}

TEST_CASE("partial sends every element once in as many steps as it has parts, however many buckets there are",
          "[comm][compression]") {
  const std::size_t parts = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(parts);
  comm::testing::run_threads(2, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum(core::format("partial:{}", parts));
    sum->start(comm, layout, buckets);
    std::vector<float> gradient(length);
    for (int round = 0; round < 2; ++round) {
      std::vector<int> sent(length);
      for (std::size_t step = 0; step < parts; ++step) {
        std::ranges::fill(gradient, 1.f);
        for (const core::Range bucket : buckets) (*sum)(comm, bucket, gradient);
        for (std::size_t i = 0; i < length; ++i) sent[i] += gradient[i] != 0;
      }
      if (sent != std::vector<int>(length, 1)) throw std::logic_error("an element was sent more than once, or never");
    }
  });
}

TEST_CASE("compression names what it does not know", "[comm][compression]") {
  CHECK_THROWS_WITH(comm::make_gradient_sum("zip"), contains_text("zip") && contains_text("bits:K"));
  CHECK_THROWS_WITH(comm::make_gradient_sum("bits"), contains_text("write bits:K"));
  CHECK_THROWS_WITH(comm::make_gradient_sum("fp16:2"), contains_text("write fp16"));
  for (const std::string bits : {"0", "3", "-1", "1.5", "64", "nan", "one"})
    CHECK_THROWS_AS(comm::make_gradient_sum("bits:" + bits), core::ConfigError);
  for (const std::string text :
       {"top_k:0", "top_k:1.1", "top_k:-1", "top_k:few", "power_sgd:0", "power_sgd:1.5", "power_sgd:"})
    CHECK_THROWS_AS(comm::make_gradient_sum(text), core::ConfigError);
}

namespace {

constexpr int afterwards = 200;  // steps with the same gradient

/// What the last of many equal gradients of two workers came to, after a first gradient `before`, as a share of their sum:
/// the mean of what was delivered.
std::vector<double> delivered_after(const std::string& name, const std::function<float(std::size_t)>& before) {
  std::vector<double> delivered(length);
  comm::testing::run_threads(2, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum(name);
    sum->start(comm, layout, buckets);
    std::vector<float> gradient(length);
    for (int step = -1; step < afterwards; ++step) {
      for (std::size_t i = 0; i < length; ++i) gradient[i] = step < 0 ? before(i) : gradient_of(0, comm.rank(), i);
      for (const core::Range bucket : buckets) (*sum)(comm, bucket, gradient);
      if (comm.rank() == 0)
        for (std::size_t i = 0; i < length; ++i) delivered[i] += static_cast<double>(gradient[i]) / afterwards;
    }
  });
  return delivered;
}

}  // namespace

TEST_CASE("a first gradient of zeros, of one column or of equal elements takes nothing from those that follow",
          "[comm][compression]") {
  const std::string name = GENERATE(from_range(lossy_ones()));
  const std::function<float(std::size_t)> firsts[] = {[](std::size_t) { return 0.f; },
                                                      [](std::size_t i) { return i >= 33 && i < 66 ? 1.f : 0.f; },
                                                      [](std::size_t) { return 1.f; }, [](std::size_t) { return 1e-40f; }};
  for (const auto& first : firsts) {
    const std::vector<double> delivered = delivered_after(name, first);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const double wanted = static_cast<double>(gradient_of(0, 0, i)) + static_cast<double>(gradient_of(0, 1, i)) +
                            2 * static_cast<double>(first(i)) / afterwards;
      error += (delivered[i] - wanted) * (delivered[i] - wanted);
      size += wanted * wanted;
    }
    CAPTURE(name, first(40));
    CHECK(error < 0.1 * size);
  }
}

TEST_CASE("a sum over many samples is no reason to saturate, and what saturates is counted", "[comm][compression]") {
  const std::string name = GENERATE(from_range(lossy_ones()));
  const double samples = GENERATE(1., 1000., 4096., 1e6);
  std::vector<std::optional<std::uint64_t>> counts(2);
  comm::testing::run_threads(2, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum(name);
    sum->start(comm, layout, buckets);
    std::vector<float> gradient(length);
    for (int step = 0; step < 60; ++step) {
      sum->set_samples(samples);
      for (float& element : gradient) element = static_cast<float>(60000 * samples / 2);
      for (const core::Range bucket : buckets) (*sum)(comm, bucket, gradient);
    }
    counts[static_cast<std::size_t>(comm.rank())] = sum->saturated(comm);
    if (name != "fp16") return;
    for (const float element : gradient)
      if (std::abs(element - 60000 * samples) > 100 * samples) throw std::logic_error("it saturated");
  });
  CAPTURE(name, samples);
  for (const auto& count : counts) CHECK(count.value_or(0) == 0);
  CHECK(counts[0].has_value() == (name == "fp16"));
  comm::testing::run_threads(2, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum("fp16", {{"error-feedback", false}});
    sum->start(comm, layout, buckets);
    std::vector<float> gradient(length);
    sum->set_samples(samples);
    gradient[5] = static_cast<float>(2e5 * samples);
    for (const core::Range bucket : buckets) (*sum)(comm, bucket, gradient);
    const std::uint64_t sums = sum->saturated(comm).value();
    if (sums != (comm.rank() == 0 ? 2u : 1u))
      throw std::logic_error("the gradient and the sum at its owner, or not, were missed");
  });
}

TEST_CASE("16-bit floats go through every allreduce: half of its bytes, the same bits everywhere", "[comm][compression]") {
  const std::string name = GENERATE("fp16", "bf16");
  const std::string algorithm = GENERATE(from_range(comm::testing::own_algorithms()));
  const int workers = GENERATE(2, 3, 5);
  const bool feedback = GENERATE(false, true);
  CAPTURE(name, algorithm, workers, feedback);
  const Outcome whole = sum_up(workers, 1, "none", {{"collective", algorithm}});
  const Outcome half = sum_up(workers, 1, name, {{"collective", algorithm}, {"error-feedback", feedback}});
  const double precision = name == "fp16" ? 0x1p-11 : 0x1p-8;
  for (int worker = 0; worker < workers; ++worker) {
    const auto w = static_cast<std::size_t>(worker);
    CHECK(half.sums[w] == half.sums[0]);
    CHECK(2 * half.bytes[w] <= whole.bytes[w] + 16 * buckets.size() * static_cast<std::size_t>(workers));
    if (whole.bytes[w] > 0) CHECK(2 * half.bytes[w] >= whole.bytes[w] / 2);
  }
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < length; ++i) {
    double sizes = 0;
    for (int worker = 0; worker < workers; ++worker) sizes += std::abs(gradient_of(0, worker, i));
    worst = std::max(worst, std::abs(half.delivered[i] - half.wanted[i]) / (sizes + 1e-3));
    largest = std::max(largest, sizes);
  }
  CHECK(worst < precision * (workers + 1));
  CHECK(largest > 1);
}

TEST_CASE("a library's own sum of floats is refused for 16-bit codes", "[comm][compression]") {
  comm::testing::run_threads(2, [&](Communicator& comm) {
    const auto sum = comm::make_gradient_sum("fp16", {{"collective", "native"}});
    sum->start(comm, layout, buckets);
    std::vector<float> gradient(length);
    try {
      (*sum)(comm, buckets[0], gradient);
    } catch (const core::ConfigError& error) {
      if (std::string(error.what()).find("choose another `collective`") != std::string::npos) return;
    }
    throw std::logic_error("it was not refused");
  });
}
