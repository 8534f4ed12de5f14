// Whole models in double against differences of their loss: what the forward pass saves, every kernel's backward pass, and
// the order in which they are called, without the roundings of float.
#include <algorithm>
#include <memory>

#include "catch.hpp"
#include "support.hpp"
#include "tests/backend/double_device.hpp"
#include "tests/nn/networks.hpp"

using namespace paragrad;
using namespace paragrad::nn;
using namespace paragrad::nn::testing;

namespace {

/// A minibatch of three sequences of 4, 3 and 1 frames, of two windows of 4 tokens, or of 8 rows.
struct Checked {
  backend::testing::DoubleDevice device;
  Samples samples{8, 6, 4};
  const std::vector<std::uint32_t> active{3, 2, 2, 1}, windows{2, 2, 2, 2};
  const std::vector<std::int32_t> said{3, 0, 1, 1, 0, 2, 3, 0};
  const std::vector<std::uint32_t> rows{5, 9, 2, 7, 0, 1, 3, 8};
  const std::vector<std::int32_t> tokens{2, 0, -1, 0, 1, -1, -1, -1};  // 2 0, 0 1, none
  Model model;
  std::unique_ptr<const Loss> criterion;
  bool aligned;
  std::vector<float> parameters, gradient;

  Checked(const std::string& text, const std::string& name, const core::Settings& settings)
      : model(device, paragrad::test::network(text), 8),
        criterion(make_loss(name, settings)),
        aligned(loss_entry(name).is_aligned),
        parameters(model.graph().model_size()),
        gradient(model.parameter_count()) {
    model.graph().initialise(3, parameters);
    parameters.resize(model.parameter_count());
    const core::RandomStream random(8, core::Purpose::generator);  // biases that are not zero
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += static_cast<float>(0.1 * random.normal(i));
  }

  data::Batch batch() const {
    data::Batch batch = samples.batch();
    batch.active = active;
    if (model.graph().tokens()) {
      batch.tokens = said;
      batch.active = windows;
    }
    batch.rows = rows;
    if (!aligned) batch.labels = tokens;
    return batch;
  }

  double loss() {
    model.forward(device, parameters, batch());
    backend::LossSum sum;
    model.loss(device, *criterion, batch(), &sum);
    return sum.loss;
  }

  /// The largest difference between a derivative and its estimate.
  double error() {
    loss();
    model.backward(device, parameters, batch(), {gradient}, [](core::Range) {});
    std::vector<double> derivatives;
    for (const float& value : gradient) derivatives.push_back(device.get(value));
    double worst = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double here = device.get(parameters[i]), h = 1e-5;
      device.put(parameters[i], here + h);
      const double above = loss();
      device.put(parameters[i], here - h);
      const double estimate = (above - loss()) / (2 * h);
      device.put(parameters[i], here);
      const double error = std::abs(estimate - derivatives[i]);
      worst = std::max(worst, std::isnan(error) ? 1e9 : error);
    }
    return worst;
  }
};

/// Its defaults, and each option at two other values.
std::vector<core::Settings> variants_of(const core::EntryInfo& loss) {
  std::vector<core::Settings> variants{{}};
  for (const core::OptionInfo& option : loss.options)
    for (const double value : {0.2, 0.6}) {
      option.check(core::format("{}", value));
      variants.push_back({{option.name, value}});
    }
  return variants;
}

}  // namespace

TEST_CASE("in double the gradient of a model of texts is the derivative of its loss", "[nn]") {
  const std::string gpt = "gpt:layers=2,width=4,context=4,vocabulary=4,heads=";
  const std::string text =
      GENERATE_COPY(std::string("text"), std::string("text_rms"), gpt + "2", gpt + "1,norm=rms,mlp=swiglu",
                    gpt + "2,bias=false,tied=false", gpt + "4,dropout=0.3", gpt + "2,positions=rotary");
  for (const std::string loss : {"cross_entropy", "focal"}) {
    CAPTURE(text, loss);
    CHECK(Checked(text, loss, {}).error() < (text.starts_with("gpt") ? 2e-7 : 2e-9));  // its norms are strongly curved
  }
}

TEST_CASE("in double a model's gradient is the derivative of its loss to nine digits", "[nn]") {
  const std::string text = GENERATE("6-5-4", "6-2x5-4:tanh", "6-5-4:relu", "6-2x5-4:gelu", "6-2x5-4:silu", "6-lstm3-4",
                                    "6-blstm3p2+peepholes-4", "residual", "residual_gelu", "shared", "two_outputs",
                                    "half_added", "dropout", "batch_norm", "images", "normalising");
  for (const core::EntryInfo& loss : loss_catalogue().entries)
    for (const core::Settings& settings : variants_of(loss)) {
      CAPTURE(text, loss.name, core::values_of(loss, settings));
      CHECK(Checked(text, loss.name, settings).error() < 2e-9);
    }
}
