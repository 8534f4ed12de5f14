// Compressed gradients that all workers receive from each, and kept errors that fade.
#include <cmath>

#include "catch.hpp"
#include "comm/compression_support.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;

TEST_CASE("codes that are gathered are summed in rank order, once encoded", "[comm][compression]") {
  const int workers = GENERATE(1, 2, 5);
  const Outcome gathered = sum_up(workers, 1, [] {
    return comm::compression::sum_of_codes(std::make_unique<Verbatim>(), {{false}, true});
  });
  const Outcome server = sum_up(workers, 1, "none", {{"collective", "parameter_server"}});
  CHECK(gathered.sums == server.sums);
  const auto others = static_cast<std::uint64_t>(workers - 1);
  for (const std::uint64_t sent : gathered.bytes) CHECK(sent == others * length * sizeof(float));
}

TEST_CASE("gathered codes leave what each worker left out, and no error of the sum", "[comm][compression]") {
  const std::string name =
      GENERATE("bits:1", "bits:4", "top_k:0.05", "chunk_top_k:3,16", "e3m0", "statistical:2", "statistical:4", "bf16");
  const int workers = GENERATE(1, 3);
  CAPTURE(name, workers);
  const Outcome gathered = sum_up(workers, 12, name, {{"gather-codes", true}});
  CHECK(total(gathered.delivered) + gathered.kept == Approx(total(gathered.wanted)).margin(2e-3));
  for (const auto& sum : gathered.sums) CHECK(sum == gathered.sums.front());
  const Outcome once = sum_up(workers, 1, name, {{"gather-codes", true}}), twice = sum_up(workers, 1, name);
  const auto error = [](const Outcome& outcome) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += std::pow(outcome.delivered[i] - outcome.wanted[i], 2);
    return sum;
  };
  if (!name.starts_with("statistical"))  // which has more means where matrices are cut into stripes
    CHECK(error(once) <= error(twice));
}

TEST_CASE("a kept error fades by its decay before the next gradient is added", "[comm][compression]") {
  const std::string name = GENERATE("bits:1", "top_k:0.05", "e3m0", "statistical:2", "power_sgd:2", "fp16");
  const bool gathered = GENERATE(false, true);
  CAPTURE(name, gathered);
  core::Settings settings{{"gather-codes", gathered}};
  if (name == "fp16" && !gathered && GENERATE(false, true)) settings["collective"] = "ring";  // which adds codes
  const auto sum_of = [&](double decay, bool feedback) {
    settings["error-decay"] = decay;
    settings["error-feedback"] = feedback;
    return sum_up(2, 2, name, settings).sums;
  };
  CHECK(sum_of(1e-30, true) == sum_of(1, false));  // so little that it is rounded away
  CHECK(sum_of(0.5, true) != sum_of(1, false));
  CHECK(sum_of(0.5, true) != sum_of(1, true));
}
