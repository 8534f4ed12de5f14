#include "train/memory_need.hpp"

#include "catch.hpp"
#include "core/errors.hpp"

using namespace paragrad;

namespace {

struct MemoryCase {
  std::string optimiser;
  double momentum;
  double copies;  ///< of the parameters: themselves, gradient, state
};

train::TrainingData source_of(const std::string& model) {
  train::TrainingData source;
  source.network = std::make_shared<const nn::Graph>(nn::make_graph(model));
  return source;
}

}  // namespace

TEST_CASE("a replica takes its parameters, its gradient and its optimiser's state, once for each worker", "[train]") {
  const auto of = GENERATE(MemoryCase{"sgd", 0, 2}, MemoryCase{"momentum", 0.9, 2}, MemoryCase{"adam", 0, 4},
                           MemoryCase{"adagrad", 0, 3});
  train::TrainingOptions options;
  options.optimiser.name = of.optimiser;
  options.momentum = of.momentum;
  const auto source = source_of("8-12-6");
  const double model_bytes = 4. * (8 * 12 + 12 + 12 * 6 + 6);
  INFO(of.optimiser);
  CHECK(train::least_memory_bytes(options, *source.network, 1) == of.copies * model_bytes);
  CHECK(train::least_memory_bytes(options, *source.network, 6) == 6 * of.copies * model_bytes);
  options.tensor_parallel = 2;
  CHECK(train::least_memory_bytes(options, *source.network, 6) == 3 * of.copies * model_bytes);
}

TEST_CASE("a model that no memory holds is refused on a device that computes, and can be timed", "[train]") {
  train::TrainingOptions options;
  options.model = "4-1000000-1000000-6";
  const auto source = source_of(options.model);
  CHECK_THROWS_WITH(train::require_memory(*backend::make_device("cpu"), options, source, 3),
                    contains_text("the model '4-1000000-1000000-6', with gradient and optimiser, of 3 workers needs 24TB"));
  CHECK_NOTHROW(train::require_memory(*backend::make_device("meta"), options, source, 3));
}
