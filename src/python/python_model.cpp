#include "python/python_model.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "python/user_code.hpp"

namespace paragrad::python {
namespace {

namespace nb = nanobind;

using Values = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// An array of Python's on a worker's memory.
nb::object view_of(std::span<float> memory) {
  const std::size_t size = memory.size();
  return nb::cast(nb::ndarray<nb::numpy, float>(memory.data(), {size}, nb::none()));  // with an owner it is no copy
}

std::vector<float> copy_of(nb::handle values) {
  const auto array = nb::cast<Values>(values);
  return {array.data(), array.data() + array.size()};
}

/// into = keep into + gradient
void accumulate(const PythonModel::Gradient& to, std::span<const float> gradient) {
  if (to.keep == 0)
    std::ranges::copy(gradient, to.into.begin());
  else
    for (std::size_t i = 0; i < gradient.size(); ++i) to.into[i] = to.keep * to.into[i] + gradient[i];
}

}  // namespace

PythonModel::PythonModel(nb::object given)
    : given_(std::move(given)),
      name_(nb::cast<std::string>(given_.attr("name"))),
      sha256_(nb::cast<std::string>(given_.attr("sha256"))),
      inputs_(nb::cast<std::size_t>(given_.attr("inputs"))),
      outputs_(nb::cast<std::size_t>(given_.attr("outputs"))),
      has_loss_(nb::cast<bool>(given_.attr("has_loss"))) {
  if (const nb::object tokens = given_.attr("tokens"); !tokens.is_none())
    tokens_ = nn::TokenInput{nb::cast<std::size_t>(tokens[0]), nb::cast<std::size_t>(tokens[1])};
  for (const nb::handle layer : given_.attr("layers")) {
    const std::size_t first = arrays_.size();
    for (const nb::handle array : layer.attr("arrays"))
      arrays_.push_back({nb::cast<std::string>(array.attr("name")),
                         {nb::cast<std::size_t>(array.attr("rows")), nb::cast<std::size_t>(array.attr("columns"))},
                         copy_of(array.attr("initial"))});
    layers_.push_back({nb::cast<std::string>(layer.attr("name")),
                       {first, arrays_.size()},
                       nb::cast<bool>(layer.attr("is_table")),
                       nb::cast<std::uint64_t>(layer.attr("flops"))});
  }
  for (const nb::handle buffer : given_.attr("buffers"))
    buffers_.push_back({nb::cast<std::string>(buffer.attr("name")), nb::cast<std::size_t>(buffer.attr("size")), 0,
                        copy_of(buffer.attr("initial"))});
}

PythonModel::~PythonModel() {
  const nb::gil_scoped_acquire lock;
  saved_.clear();
  given_.reset();
}

nb::list PythonModel::views_of(const Memory& memory) {
  nb::list views;
  for (const std::span<float> array : memory.parameters) views.append(view_of(array));
  std::size_t at = 0;
  for (const nn::BufferSpec& buffer : buffers_) {
    views.append(view_of(memory.buffers.subspan(at, buffer.size)));
    at += buffer.size;
  }
  return views;
}

void PythonModel::forward(const Memory& memory, std::size_t rows, std::span<const float> features,
                          std::span<const std::int32_t> tokens, std::optional<std::uint64_t> seed, std::span<float> y) {
  call_user(name_, "forward", [&] {
    const nb::object x =
        tokens_ ? copied_array(tokens.data(), tokens.size()) : copied_array(features.data(), features.size());
    const nb::object random = seed ? nb::cast(*seed) : nb::none();
    const nb::object returned = given_.attr("forward")(views_of(memory), x, rows, random);
    const auto outputs = nb::cast<Values>(returned[0]);
    std::ranges::copy(std::span(outputs.data(), outputs.size()), y.begin());
    if (seed) saved_[memory.parameters.front().data()] = returned[1];
  });
}

void PythonModel::backward(const Memory& memory, std::span<const float> dy, std::span<const Gradient> gradients) {
  call_user(name_, "backward", [&] {
    const auto node = saved_.extract(memory.parameters.front().data());
    const nb::object returned = given_.attr("backward")(node.mapped(), copied_array(dy.data(), dy.size()));
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      const auto gradient = nb::cast<Values>(returned[k]);
      accumulate(gradients[k], {gradient.data(), gradient.size()});
    }
  });
}

void PythonModel::loss(std::span<const std::int32_t> labels, std::span<const float> targets, std::span<float> outputs,
                       backend::LossSum& into) {
  call_user(name_, "loss", [&] {
    const nb::object y =
        targets.empty() ? copied_array(labels.data(), labels.size()) : copied_array(targets.data(), targets.size());
    const nb::object returned = given_.attr("loss")(copied_array(outputs.data(), outputs.size()), y);
    const auto gradient = nb::cast<Values>(returned[2]);
    into.loss += nb::cast<double>(returned[0]);
    into.errors += nb::cast<std::int64_t>(returned[1]);
    std::ranges::copy(std::span(gradient.data(), gradient.size()), outputs.begin());
  });
}

}  // namespace paragrad::python
