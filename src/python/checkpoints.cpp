#include "python/checkpoints.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "nn/model.hpp"
#include "python/nanobind.hpp"
#include "python/python_model.hpp"
#include "train/posteriors.hpp"
#include "train/state/checkpoint.hpp"

namespace paragrad::python {
namespace {

namespace nb = nanobind;

using Array = nb::ndarray<nb::numpy, float>;

/// An array of Python's that owns the values.
Array array_of(std::vector<float> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<float>(std::move(values));
  return {kept->data(), shape, nb::capsule(kept, [](void* it) noexcept { delete static_cast<std::vector<float>*>(it); })};
}

Array parameters_of(const std::string& path) {
  std::vector<float> parameters = train::read_checkpoint(path).parameters;
  const std::size_t count = parameters.size();
  return array_of(std::move(parameters), {count});
}

/// model: see ModelOfCall.
nb::dict describe_checkpoint(const std::string& path, nb::handle model) {
  const ModelOfCall given(model);
  const train::Checkpoint checkpoint = train::read_checkpoint(path);
  const nn::Graph graph = nn::make_graph(checkpoint.model);
  nb::dict result;
  result["model"] = checkpoint.model;
  result["gives_probabilities"] = nn::loss_entry(checkpoint.loss).of_log_probabilities;
  result["inputs"] = graph.inputs();
  result["outputs"] = graph.outputs();
  result["epoch"] = checkpoint.epoch;
  result["classes"] = checkpoint.data.classes;
  return result;
}

std::vector<float> predictions_of(const std::string& path, const std::string& data, const std::string& context) {
  const nb::gil_scoped_release other_threads_run;
  const train::Checkpoint checkpoint = train::read_checkpoint(path);
  train::TrainingOptions options;
  options.data = data;
  options.context = context;
  options.model = checkpoint.model;
  options.minibatch = 256;
  const bool probabilities = nn::loss_entry(checkpoint.loss).of_log_probabilities;
  if (!probabilities) options.loss = checkpoint.loss;
  const train::TrainingData source = train::open_evaluation_data(options, checkpoint, path);
  const auto device = backend::make_device("cpu");
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  return (probabilities ? train::log_posteriors : train::outputs_of)(worker, {source, {}}, checkpoint.parameters,
                                                                     data::Subset::train);
}

Array predict(const std::string& path, const std::string& data, std::size_t outputs, const std::string& context,
              nb::handle model) {
  const ModelOfCall given(model);
  std::vector<float> values = predictions_of(path, data, context);
  const std::size_t rows = values.size() / outputs;
  return array_of(std::move(values), {rows, outputs});
}

}  // namespace

void bind_checkpoints(nb::module_& module) {
  module.def("parameters_of", &parameters_of, nb::arg("path"));
  module.def("describe_checkpoint", &describe_checkpoint, nb::arg("path"), nb::arg("model").none());
  module.def("predict", &predict, nb::arg("path"), nb::arg("data"), nb::arg("outputs"), nb::arg("context"),
             nb::arg("model").none());
}

}  // namespace paragrad::python
