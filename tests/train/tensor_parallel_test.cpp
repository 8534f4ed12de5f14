// Replicas that several workers hold together.
#include "nn/tensor_parallel.hpp"

#include "backend/kernels/affine.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "catch.hpp"
#include "nn/columns.hpp"
#include "nn/model.hpp"
#include "nn/ops/affine.hpp"
#include "nn/pass.hpp"
#include "support.hpp"
#include "train/learners/network_learner.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/state_store.hpp"

using namespace paragrad;

namespace {

constexpr std::size_t inputs = 8, classes = 6;

/// The whole layer on one worker, whose input gradient is added up as holders of its parts would.
class AddedInParts final : public nn::Op {
 public:
  AddedInParts(std::size_t outputs, backend::Activation f, std::size_t parts)
      : affine_(outputs, f, f), outputs_(outputs), parts_(parts) {}

  std::string name() const override { return affine_.name(); }
  std::vector<nn::ValueType> infer(Types inputs) const override { return affine_.infer(inputs); }
  std::vector<nn::ParameterSpec> parameters(Types inputs) const override { return affine_.parameters(inputs); }
  backend::Activation activation() const override { return affine_.activation(); }
  void forward(const nn::Pass& pass) const override { affine_.forward(pass); }
  void backward_parameters(const nn::Pass& pass) const override { affine_.backward_parameters(pass); }

  void backward_inputs(const nn::Pass& pass) const override {
    backend::KernelQueue& queue = pass.queue();
    const nn::InputSink dx = pass.dx();
    const std::size_t batch = pass.rows();
    const std::span<const float> weights = pass.parameters(0), x = pass.x(), dy = pass.dy();
    if (!dx.wanted() || !queue.computes()) return;  // a lower bound of the work is asked for
    const std::size_t in = pass.input_type(0).size(), out = outputs_;
    std::vector<std::vector<float>> addends;
    for (std::size_t k = 0; k < parts_; ++k) {
      const core::Range own = core::part_of(out, parts_, k);
      std::vector<float> w(in * own.size()), d(batch * own.size());
      queue.run(backend::CopyColumns{in, own.size(), out, nn::columns_of(weights, in, out, own), own.size(), w});
      queue.run(backend::CopyColumns{batch, own.size(), out, nn::columns_of(dy, batch, out, own), own.size(), d});
      addends.emplace_back(batch * in);
      queue.run(backend::AffineBackwardInput{batch, in, own.size(), d, w, x, backend::Activation::identity, addends.back()});
    }
    for (std::size_t s = 0; s < batch; ++s)
      for (std::size_t k = 0; k < parts_; ++k)
        for (std::size_t i = core::part_of(in, parts_, k).begin; i < core::part_of(in, parts_, k).end; ++i) {
          float& sum = dx.into[s * in + i] = addends[k][s * in + i];
          for (std::size_t back = 1; back < parts_; ++back) sum += addends[(k + parts_ - back) % parts_][s * in + i];
        }
    nn::apply_slope(queue, dx);
  }

 private:
  nn::Affine affine_;
  std::size_t outputs_, parts_;
};

/// 8-12-9-6:sigmoid, a replica to each worker.
std::string added_in_parts(const test::SmallTask& task, std::size_t parts, int workers) {
  nn::GraphBuilder graph({{inputs}});
  nn::ValueId x = graph.add("1", AddedInParts(12, backend::Activation::sigmoid, parts), {nn::GraphBuilder::input});
  x = graph.add("2", AddedInParts(9, backend::Activation::sigmoid, parts), {x});
  x = graph.add("3", AddedInParts(classes, backend::Activation::identity, parts), {x});
  const auto network = std::make_shared<const nn::Graph>(std::move(graph).build(x));
  const train::TrainingData source = train::open_training_data(task.options, workers);
  std::string hash;
  sim::run(workers, [&](comm::Worker& worker) {
    const auto learners = train::network_learners(network, task.options);
    const train::Result result = train::train(worker, task.options, source, learners, {});
    if (worker.rank() == 0) hash = result.parameters_sha256;
  });
  return hash;
}

std::string split(test::SmallTask& task, int parts, int replicas) {
  task.options.tensor_parallel = parts;
  const std::string hash = task.simulate(parts * replicas).parameters_sha256;
  task.options.tensor_parallel = 1;
  return hash;
}

/// Arithmetic costs nothing, a message its latency and its bytes.
sim::Platform links_only(int workers, double latency_s, double bandwidth) {
  sim::Platform platform = sim::free_platform(workers);
  platform.peer = {latency_s, bandwidth};
  platform.leaf = {{latency_s, bandwidth}, 1};
  return platform;
}

}  // namespace

TEST_CASE("the part of a network that a holder has, cut and joined, is the network", "[train]") {
  const std::size_t parts = GENERATE(1u, 2u, 3u, 6u);
  const auto network = std::make_shared<const nn::Graph>(nn::make_graph("8-12-9-6:tanh"));
  std::vector<float> model(network->model_size()), joined(model.size());
  network->initialise(3, model);
  std::size_t together = 0;
  for (std::size_t k = 0; k < parts; ++k) {
    const nn::TensorParallel split(network, parts, k);
    std::vector<float> part(split.model_size(k));
    REQUIRE(part.size() == split.own()->model_size());
    split.cut(k, model, part);
    split.join(k, part, joined);
    together += part.size();
  }
  CHECK(together == model.size());
  CHECK(joined == model);
}

TEST_CASE("a tensor-parallel replica ends in the bits of one worker that adds input gradients in the same order",
          "[train]") {
  const int parts = GENERATE(2, 3, 6);
  test::SmallTask task(300);
  task.options.model = "8-12-9-6:sigmoid";
  task.options.minibatch = GENERATE(7u, 16u, 0u);
  task.options.l2 = 1e-4;
  CHECK(split(task, parts, 1) == added_in_parts(task, static_cast<std::size_t>(parts), 1));
}

TEST_CASE("a minibatch in micro-batches is split like one", "[train]") {
  test::SmallTask task(3000);
  task.options.model = "8-12-9-6:sigmoid";
  task.options.minibatch = 2500;
  task.options.micro_batch = 1000;
  task.options.blocks = 1;
  CHECK(split(task, 2, 1) == added_in_parts(task, 2, 1));
}

TEST_CASE("two tensor-parallel replicas agree like two whole ones, by any strategy that looks at single elements",
          "[train]") {
  test::SmallTask task(300);
  task.options.model = "8-12-9-6:sigmoid";
  task.options.strategy = GENERATE("data_parallel", "model_averaging", "bmuf", "diloco");
  test::give(task.options, "bucket-bytes", GENERATE(0u, 100u));
  task.options.schedule.name = "newbob";
  task.options.schedule.settings = {{"newbob-restore", true}};
  CHECK(split(task, 3, 2) == added_in_parts(task, 3, 2));
}

TEST_CASE("without hidden layers nothing is added in another order, so that any split ends in the same bits", "[train]") {
  test::SmallTask task(300);
  task.options.model = "8-6";
  const std::string whole = task.simulate(1).parameters_sha256;
  for (const int parts : {2, 3, 6}) CHECK(split(task, parts, 1) == whole);
}

TEST_CASE("a tensor-parallel replica waits for what its header says: outputs forward, sums back, and nothing else",
          "[train]") {
  // Of two holders each sends half of a layer's outputs, or of their gradient: 4 bytes for each of its 6, 3, 3 outputs.
  const double latency_s = 1e-3, bandwidth = 1e6;
  test::SmallTask task(640);
  task.options.model = "8-12-6-6:sigmoid";
  task.options.minibatch = 16;
  task.options.epochs = 1;
  task.options.tensor_parallel = 2;
  const train::Result result = task.simulate(2, links_only(2, latency_s, bandwidth));
  const double minibatches = 40, messages = 3 + 2, floats = 16 * (6 + 3 + 3 + 6 + 3);
  const double expected_s = minibatches * (messages * latency_s + 4 * floats / bandwidth);
  CHECK(result.times.optimise_s >= expected_s * (1 - 1e-12));
  CHECK(result.times.optimise_s < expected_s + latency_s);  // one may begin a little later than the other
}

TEST_CASE("a timing run of tensor-parallel replicas takes exactly the simulated time of the run that computes", "[train]") {
  test::SmallTask task;
  task.options.model = "8-12-9-6:sigmoid";
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  task.options.tensor_parallel = 3;
  sim::Platform platform = links_only(6, 2e-6, 1e9);
  platform.device = {1e12, 1e11, 0.7, 0.8, 3e-6};
  const auto result = [&](const char* device) {
    metrics::RunFolder folder(task.file(device), metrics::RunFolder::Existing::refuse);
    return task.simulate(6, platform, {.device = device}, {.folder = &folder});
  };
  const train::Result computed = result("cpu"), timed = result("meta");
  CHECK(timed.times.optimise_s == computed.times.optimise_s);
  CHECK(timed.times.aggregate_s == computed.times.aggregate_s);
  CHECK(timed.times.validate_s == computed.times.validate_s);
}

TEST_CASE("gathering the trained model for its checkpoint is no part of the training's time", "[train]") {
  test::SmallTask task(300);
  task.options.model = "8-12-9-6:sigmoid";
  task.options.epochs = 1;
  task.options.tensor_parallel = 2;
  const sim::Platform platform = links_only(2, 1e-4, 1e3);
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  const train::Result kept = task.simulate(2, platform, {}, {.folder = &folder});
  CHECK(kept.training_s == task.simulate(2, platform).training_s);
}

TEST_CASE("checkpoints of tensor-parallel replicas are those of whole ones", "[train]") {
  test::SmallTask task(300);
  task.options.model = "8-12-9-6:sigmoid";
  task.options.strategy = "data_parallel";
  task.options.tensor_parallel = 2;
  metrics::RunFolder folder(task.file("run"), metrics::RunFolder::Existing::refuse);
  const train::Result result = task.simulate(4, sim::free_platform(4), {}, {.folder = &folder});
  const train::Checkpoint checkpoint = train::read_checkpoint(folder.file("checkpoint.h5"));
  CHECK(train::parameters_sha256(checkpoint.parameters) == result.parameters_sha256);
  task.options.tensor_parallel = 3;
  task.options.init = folder.file("checkpoint.h5");
  task.options.schedule.initial_rate = 1e-30;  // nothing moves
  CHECK(task.simulate(3).parameters_sha256 == result.parameters_sha256);
}

TEST_CASE("tensor-parallel replicas resume to the same bits", "[train]") {
  test::SmallTask task;
  task.options.model = "8-12-9-6:sigmoid";
  task.options.strategy = "bmuf";
  task.options.tensor_parallel = 2;
  sim::Platform platform = links_only(4, 1e-4, 1e7);
  const train::Result whole = task.simulate(4, platform);
  const train::Output output{.state_folder = task.file("state"), .state_every_blocks = 1};
  platform.faults.push_back(
      {.at_s = 0.6 * whole.training_s, .kind = sim::Platform::Fault::Kind::worker, .id = GENERATE(0, 3)});
  CHECK_THROWS_AS(task.simulate(4, platform, {}, output), comm::Failure);
  REQUIRE(train::StateStore::saved_phase(output.state_folder));
  platform.faults.clear();
  CHECK(task.simulate(4, platform, {}, output).parameters_sha256 == whole.parameters_sha256);
}

TEST_CASE("what cannot be split is refused", "[train]") {
  test::SmallTask task;
  task.options.tensor_parallel = 4;
  CHECK_THROWS_WITH(task.simulate(6),
                    contains_text("`tensor-parallel` 4: the worker count must be a multiple of it, but is 6"));
  task.options.tensor_parallel = 7;
  CHECK_THROWS_WITH(task.simulate(7), contains_text("layer 2 (affine) has 6 outputs and cannot be split into 7 parts"));
  task.options.tensor_parallel = 2;
  task.options.optimiser.name = "lars";
  CHECK_THROWS_WITH(task.simulate(2), contains_text("needs whole matrices"));
  task.options.model = "zoo:alexnet";
  task.options.data.clear();
  task.imaginary_samples = {100, 0, 0};
  CHECK_THROWS_WITH(task.simulate(2, sim::free_platform(2), {.device = "meta"}), contains_text("cannot be split"));
}
