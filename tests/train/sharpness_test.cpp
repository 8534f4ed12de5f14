#include "train/sharpness.hpp"

#include <cmath>
#include <random>

#include "catch.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

/// A network with random parameters on a small task, alone.
struct Measured {
  explicit Measured(const std::string& model) {
    task.options.model = model;
    source = train::open_evaluation_data(task.options);
    parameters.resize(source.network->model_size());
    source.network->initialise(1, parameters);
  }

  double loss(std::span<const float> at) {
    return train::evaluate(worker, task.options, at, source, data::Subset::train).loss;
  }
  train::Sharpness sharpness(const train::SharpnessOptions& how) {
    return train::sharpness(worker, task.options, parameters, source, data::Subset::train, how);
  }

  test::SmallTask task;
  std::unique_ptr<backend::Device> device = backend::make_device("cpu");
  comm::SoloCommunicator communicator{*device};
  comm::RealWorker worker{communicator};
  train::TrainingData source;
  std::vector<float> parameters;
};

}  // namespace

TEST_CASE("in a small box, sharpness is what the gradient by differences of the loss predicts", "[train]") {
  Measured net("8-5-6:tanh");
  const double epsilon = 1e-4, step = 1e-2;
  double rise = 0;
  for (float& weight : net.parameters) {
    const float before = weight;
    weight = static_cast<float>(before + step);
    const double above = net.loss(net.parameters);
    weight = static_cast<float>(before - step);
    const double below = net.loss(net.parameters);
    weight = before;
    rise += std::abs(above - below) / (2 * step) * epsilon * (std::abs(static_cast<double>(before)) + 1);
  }
  const train::Sharpness found = net.sharpness({.epsilon = epsilon});
  CHECK(found.loss == Approx(net.loss(net.parameters)));
  CHECK(found.highest_loss - found.loss == Approx(rise).epsilon(0.02));
  CHECK(found.percent() == Approx(100 * rise / (1 + found.loss)).epsilon(0.02));
}

TEST_CASE("no random corner of the box has a higher loss than the one found", "[train]") {
  Measured net("8-12-6:relu");
  const double epsilon = 0.02;
  const train::Sharpness found = net.sharpness({.epsilon = epsilon});
  std::minstd_rand random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> corner = net.parameters;
    for (float& weight : corner) {
      const double half = epsilon * (std::abs(static_cast<double>(weight)) + 1);
      weight = static_cast<float>(weight + (random() % 2 == 0 ? half : -half));
    }
    CHECK(net.loss(corner) <= found.highest_loss);
  }
}

TEST_CASE("a larger box and more steps never find less", "[train]") {
  Measured net("8-12-6:relu");
  double before = 0;
  for (const double epsilon : {0.001, 0.01, 0.1, 1.0}) {
    const double here = net.sharpness({.epsilon = epsilon}).percent();
    CHECK(here > before);
    CHECK(net.sharpness({.epsilon = epsilon, .steps = 1}).percent() <= here);
    before = here;
  }
}

TEST_CASE("sharpness is refused where it is not defined", "[train]") {
  Measured normalised("network normalised;input 8;a = affine input outputs=4;n = batch_norm a;y = affine n outputs=6");
  CHECK_THROWS_AS(normalised.sharpness({}), core::ConfigError);
  Measured net("8-12-6:relu");
  CHECK_THROWS_AS(net.sharpness({.samples = 0}), core::ConfigError);
  net.parameters.back() = NAN;
  CHECK_THROWS_AS(net.sharpness({}), core::ConfigError);
  net.parameters.pop_back();
  CHECK_THROWS_AS(net.sharpness({}), core::ConfigError);
}
