// Two workers, each with a part of a minibatch, against one worker with all of it, in double.
#include <array>
#include <cmath>
#include <thread>

#include "catch.hpp"
#include "nn/graph_copy.hpp"
#include "support.hpp"
#include "tests/nn/meeting_peers.hpp"
#include "tests/nn/networks.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

constexpr std::size_t rows = 8;

/// A replica of the network with its part of the samples.
struct Worker {
  Worker(const std::shared_ptr<const Graph>& graph, std::span<const float> initial, const data::Batch& batch_,
         Meeting* meeting = nullptr, std::size_t index = 0)
      : batch(batch_),
        peers(meeting == nullptr ? nullptr : std::make_unique<MeetingPeers>(*meeting, index, device)),
        model(device, graph, rows, peers.get()),
        parameters(initial.begin(), initial.begin() + static_cast<std::ptrdiff_t>(graph->parameter_count())),
        gradient(parameters.size()) {}

  void pass() {
    model.forward(device, parameters, batch);
    loss = loss_of(device, model, "cross_entropy", batch);
    model.backward(device, parameters, batch, {gradient}, [](core::Range) {});
  }

  data::Batch batch;
  backend::testing::DoubleDevice device;
  std::unique_ptr<MeetingPeers> peers;
  Model model;
  std::vector<float> parameters, gradient;
  double loss = 0;
};

struct Outcome {
  double loss = 0;
  std::vector<double> gradient, buffers;
};

/// Adds what a worker has computed; the buffers are the last worker's.
void add(Worker& worker, Outcome& sum) {
  sum.loss += worker.loss;
  sum.gradient.resize(worker.gradient.size());
  for (std::size_t i = 0; i < sum.gradient.size(); ++i) sum.gradient[i] += worker.device.get(worker.gradient[i]);
  sum.buffers.clear();
  for (const float& value : worker.model.buffers()) sum.buffers.push_back(worker.device.get(value));
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = std::max(largest, std::isnan(difference) ? 1e9 : difference);
  }
  return largest;
}

}  // namespace

TEST_CASE("with synchronised statistics workers compute what one worker computes on the whole minibatch", "[nn]") {
  const std::size_t first = GENERATE(0, 1, 5, 8);  // rows of worker 0
  const std::string name = GENERATE("batch_norm", "images");
  CAPTURE(name, first);
  const auto graph = std::make_shared<const Graph>(paragrad::test::network(name));
  const Samples samples(rows, graph->inputs(), graph->outputs());
  std::vector<float> initial(graph->model_size());
  graph->initialise(3, initial);

  Worker one(graph, initial, samples.batch());
  one.pass();
  Outcome expected;
  add(one, expected);

  Meeting meeting;
  std::array<std::unique_ptr<Worker>, workers> all;
  std::array<std::thread, workers> threads;
  for (std::size_t k = 0; k < workers; ++k) {
    const auto own = std::make_shared<const Graph>(synchronise_statistics(*graph, workers, k));
    all[k] =
        std::make_unique<Worker>(own, initial, k == 0 ? samples.part(0, first) : samples.part(first, rows), &meeting, k);
  }
  for (std::size_t k = 0; k < workers; ++k) threads[k] = std::thread([&, k] { all[k]->pass(); });
  for (std::thread& thread : threads) thread.join();
  Outcome found;
  for (const auto& worker : all) add(*worker, found);
  CHECK(std::abs(found.loss - expected.loss) < 1e-12);
  CHECK(largest_difference(found.gradient, expected.gradient) < 1e-12);
  CHECK(largest_difference(found.buffers, expected.buffers) < 1e-12);
}
