// Graphs cut into two parts, each on a device in double of its own: the parts' gradients against differences of the loss.
#include <array>
#include <thread>

#include "catch.hpp"
#include "nn/tensor_parallel.hpp"
#include "support.hpp"
#include "tests/nn/meeting_peers.hpp"
#include "tests/nn/networks.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

/// A worker's part.
struct Part {
  backend::testing::DoubleDevice device;
  std::unique_ptr<MeetingPeers> peers;
  std::unique_ptr<TensorParallel> cut;
  std::unique_ptr<Model> model;
  std::vector<float> parameters, gradient;
};

struct Replica {
  Samples samples{8, 6, 4};  // four windows of two tokens, of a text
  const std::vector<std::uint32_t> rows{5, 9, 2, 7, 0, 1, 3, 8}, active{3, 2, 2, 1}, windows{2, 2, 2, 2};
  const std::vector<std::int32_t> said{3, 0, 1, 1, 0, 2, 3, 0};
  bool reads_text;
  Meeting meeting;
  std::array<Part, workers> parts;
  std::vector<float> whole;

  explicit Replica(const std::shared_ptr<const Graph>& graph)
      : reads_text(graph->tokens().has_value()), whole(graph->model_size()) {
    graph->initialise(3, whole);
    const core::RandomStream random(8, core::Purpose::generator);
    for (std::size_t i = 0; i < graph->parameter_count(); ++i) whole[i] += static_cast<float>(0.1 * random.normal(i));
    for (std::size_t k = 0; k < workers; ++k) {
      Part& part = parts[k];
      part.peers = std::make_unique<MeetingPeers>(meeting, k, part.device);
      part.cut = std::make_unique<TensorParallel>(graph, workers, k);
      part.model = std::make_unique<Model>(part.device, part.cut->own(), 8, part.peers.get());
      part.parameters.resize(part.cut->model_size(k));
      part.cut->cut(k, whole, part.parameters);
      part.parameters.resize(part.model->parameter_count());
      part.gradient.resize(part.parameters.size());
    }
  }

  data::Batch batch() const {
    data::Batch batch = samples.batch();
    batch.rows = rows;
    batch.active = reads_text ? windows : active;
    if (reads_text) batch.tokens = said;
    return batch;
  }

  /// The loss, which both workers compute; with gradients if they are wanted.
  double pass(bool backward) {
    std::array<double, workers> losses{};
    std::array<std::thread, workers> threads;
    for (std::size_t k = 0; k < workers; ++k)
      threads[k] = std::thread([&, k] {
        Part& part = parts[k];
        part.model->forward(part.device, part.parameters, batch());
        losses[k] = loss_of(part.device, *part.model, "cross_entropy", batch());
        if (backward) part.model->backward(part.device, part.parameters, batch(), {part.gradient}, [](core::Range) {});
      });
    for (std::thread& thread : threads) thread.join();
    REQUIRE(losses[0] == losses[1]);
    return losses[0];
  }

  double error() {
    pass(true);
    double worst = 0;
    for (Part& part : parts) {
      std::vector<double> derivatives;
      for (const float& value : part.gradient) derivatives.push_back(part.device.get(value));
      for (std::size_t i = 0; i < part.parameters.size(); ++i) {
        const double here = part.device.get(part.parameters[i]), h = 1e-5;
        part.device.put(part.parameters[i], here + h);
        const double above = pass(false);
        part.device.put(part.parameters[i], here - h);
        const double estimate = (above - pass(false)) / (2 * h);
        part.device.put(part.parameters[i], here);
        const double error = std::abs(estimate - derivatives[i]);
        worst = std::max(worst, std::isnan(error) ? 1e9 : error);
      }
    }
    return worst;
  }
};

}  // namespace

TEST_CASE("in double the gradients of a graph in two parts are the derivatives of its loss to nine digits", "[nn]") {
  const std::string gpt = "gpt:layers=2,width=4,context=4,vocabulary=4,heads=2";
  const std::string name = GENERATE_COPY(
      std::string("6-5-4"), std::string("6-blstm3p2+peepholes-4"), std::string("residual"), std::string("residual_gelu"),
      std::string("shared"), std::string("two_outputs"), std::string("half_added"), std::string("dropout"),
      std::string("batch_norm"), std::string("text"), std::string("text_rms"), gpt,
      gpt + ",norm=rms,mlp=swiglu,positions=rotary", gpt + ",bias=false,tied=false", gpt + ",dropout=0.3");
  CAPTURE(name);
  const auto graph = std::make_shared<const Graph>(paragrad::test::network(name));
  Replica split(graph);
  CHECK(split.error() < (name.starts_with("gpt") ? 2e-7 : 2e-9));  // whose norms are strongly curved

  backend::testing::DoubleDevice device;  // and its loss is that of the whole graph
  Model model(device, graph, 8);
  model.forward(device, std::span(split.whole).first(graph->parameter_count()), split.batch());
  CHECK(loss_of(device, model, "cross_entropy", split.batch()) == Approx(split.pass(false)).epsilon(1e-12));
}
