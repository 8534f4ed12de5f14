#include "python/worker_view.hpp"

#include <array>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "backend/kernels/descend.hpp"
#include "backend/kernels/scale.hpp"
#include "core/format.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::python {
namespace {

namespace nb = nanobind;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

/// "array of float64", "float32 array that is not contiguous"; of what is no array its type.
std::string what_is(nb::handle value) {
  if (!nb::isinstance(value, nb::module_::import_("numpy").attr("ndarray")))
    return nb::cast<std::string>(value.type().attr("__name__"));
  const nb::object dtype = value.attr("dtype");
  const auto type = nb::cast<std::string>(nb::str(dtype));
  if (type != "float32") return "an array of " + type;
  const nb::object flags = value.attr("flags");
  if (!nb::cast<bool>(flags.attr("c_contiguous"))) return "one that is not contiguous";
  return nb::cast<bool>(flags.attr("writeable")) ? "another array" : "one that is read-only";
}

/// Throws TypeError. Written arrays are never copied.
template <class Array = FloatArray>
Array given_array(const char* function, nb::handle value) {
  Array array;
  if (nb::try_cast(value, array, false)) return array;
  constexpr bool written = std::is_same_v<Array, FloatArray>;
  throw nb::type_error(core::format("{} needs a contiguous{} NumPy array of float32, not {}", function,
                                    written ? ", writable" : "", what_is(value))
                           .c_str());
}

constexpr const char* after_the_run = "the run has ended: copy what you want to keep of it";

}  // namespace

comm::Worker& WorkerView::worker() const {
  if (worker_ == nullptr) throw nb::value_error(after_the_run);
  if (!thread_.is_current()) throw nb::value_error("a worker can be used only in the calls that it is passed to");
  return *worker_;
}

void WorkerView::call(const std::function<void(comm::Worker&)>& action) {
  comm::Worker& self = worker();
  if (!failure_)
    thread_.outside([&] {
      try {
        action(self);
      } catch (...) {  // also what unwinds an abandoned fiber: rethrown when Python's frames are gone
        failure_ = std::current_exception();
      }
    });
  if (!failure_) return;
  PyErr_SetString(PyExc_RuntimeError, "the run ends");
  throw nb::python_error();
}

void WorkerView::check_peer(int rank) const {
  if (rank < 0 || rank >= worker().size())
    throw nb::index_error(core::format("there is no worker {} among {}", rank, worker().size()).c_str());
}

void WorkerView::begin(comm::Worker& worker, std::string_view function) {
  worker_ = &worker;
  if (!std::exchange(has_checker_, true)) checker_ = CallChecker::make(worker.comm(), name_);
  if (checker_) checker_->begin(function);
}

void WorkerView::end() {
  if (checker_) checker_->end();
}

void WorkerView::allreduce(nb::handle array) {
  const auto values = given_array("allreduce", array);
  call([&](comm::Worker& self) {
    if (checker_) checker_->allreduce(values.size());
    (*allreduce_)(self.comm(), span_of(values));
  });
}

double WorkerView::sum(double value) {
  call([&](comm::Worker& self) {
    if (checker_) checker_->sum();
    comm::sum_in_rank_order(self.comm(), {&value, 1});
  });
  return value;
}

void WorkerView::send(nb::handle array, int to) {
  check_peer(to);
  const auto values = given_array<ConstFloatArray>("send", array);
  call([&](comm::Worker& self) {
    if (checker_) checker_->transfer(to, CallChecker::nobody);
    self.comm().send(to, 1, span_of(values));
  });
}

void WorkerView::receive(nb::handle array, int source) {
  check_peer(source);
  const auto values = given_array("receive", array);
  call([&](comm::Worker& self) {
    if (checker_) checker_->transfer(CallChecker::nobody, source);
    self.comm().receive(source, 1, span_of(values));
  });
}

void WorkerView::exchange(nb::handle sent, int to, nb::handle received, int source) {
  check_peer(to);
  check_peer(source);
  const auto outgoing = given_array<ConstFloatArray>("exchange", sent);
  const auto incoming = given_array("exchange", received);
  if (worker().size() == 1) {  // the right and left neighbour on a ring of one
    if (incoming.size() < outgoing.size()) throw nb::value_error("a message is longer than the receive's buffer");
    std::memmove(incoming.data(), outgoing.data(), outgoing.size() * sizeof(float));
    return;
  }
  call([&](comm::Worker& self) {
    if (checker_) checker_->transfer(to, source);
    comm::Communicator& comm = self.comm();
    const std::array transfers{comm.start_receive(source, 1, span_of(incoming)), comm.start_send(to, 1, span_of(outgoing))};
    for (const comm::Request transfer : transfers) comm.wait(transfer);
  });
}

void WorkerView::scale(nb::handle array, float factor) {
  const auto values = given_array("scale", array);
  call([&](comm::Worker& self) { self.run(backend::Scale{factor, span_of(values)}); });
}

void WorkerView::add(nb::handle array, nb::handle other, float factor) {
  const auto to = given_array("add", array);
  const auto from = given_array<ConstFloatArray>("add", other);
  if (to.size() != from.size()) throw nb::value_error("the arrays differ in length");
  const std::span<float> unchanged(const_cast<float*>(from.data()), from.size());  // as the decay is 0
  call([&](comm::Worker& self) { self.run(backend::Descend{-factor, 0, unchanged, span_of(to)}); });
}

strategies::Replica& ReplicaView::replica() const {
  if (replica_ == nullptr) throw nb::value_error(after_the_run);
  worker_->worker();  // throws in the calls of another worker
  return *replica_;
}

void ReplicaView::end_run() {
  if (replica_ != nullptr && replica_->memory != nullptr && memory_.use_count() > 1) {  // otherwise there is no array
    std::swap(memory_->parameters, *replica_->memory);
    replica_->optimiser.swap_gradients(memory_->gradients);
  }
  replica_ = nullptr;
}

nb::ndarray<nb::numpy, float> ReplicaView::view(std::span<float> values) const {
  const nb::capsule owner(new std::shared_ptr<Memory>(memory_),
                          [](void* it) noexcept { delete static_cast<std::shared_ptr<Memory>*>(it); });
  return {values.data(), {values.size()}, owner};
}

void ReplicaView::set(const char* name, std::span<float> own, nb::handle values) {
  FloatArray array;
  if (!nb::try_cast(values, array)) throw nb::type_error(core::format("{} cannot become {}", name, what_is(values)).c_str());
  if (array.size() != own.size())
    throw nb::value_error(core::format("{} values cannot replace {}", array.size(), own.size()).c_str());
  std::memmove(own.data(), array.data(), own.size_bytes());  // often the same memory, as in `parameters *= 2`
}

void ReplicaView::update() {
  strategies::Replica& replica = this->replica();
  worker_->call([&](comm::Worker& worker) {
    replica.optimiser.begin_step();
    worker.run_kernels([&](backend::KernelQueue& queue) {
      replica.optimiser.update(queue, {0, replica.parameters.size()}, replica.step, replica.parameters);
    });
  });
}

void ReplicaView::reset_momentum() {
  strategies::Replica& replica = this->replica();
  worker_->call([&](comm::Worker& worker) { strategies::reset_local_momentum(worker, replica); });
}

void bind_views(nb::module_& module) {
  nb::class_<WorkerView>(module, "Worker", "One of the workers that train together, in a call of a strategy.")
      .def_prop_ro(
          "rank", [](const WorkerView& self) { return self.worker().rank(); }, "0 to size - 1")
      .def_prop_ro(
          "size", [](const WorkerView& self) { return self.worker().size(); }, "number of workers")
      .def("allreduce", &WorkerView::allreduce, nb::arg("array").none(),
           "Sums a float32 array over all workers in place, with the run's collective.")
      .def("sum", &WorkerView::sum, nb::arg("value"), "The sum of a number over all workers, in the order of their ranks.")
      .def("send", &WorkerView::send, nb::arg("array").none(), nb::arg("to"),
           "Sends an array to a worker, which must receive it.")
      .def("receive", &WorkerView::receive, nb::arg("array").none(), nb::arg("source"),
           "Receives an array of at most this length from a worker.")
      .def("exchange", &WorkerView::exchange, nb::arg("sent").none(), nb::arg("to"), nb::arg("received").none(),
           nb::arg("source"), "Sends an array to one worker while receiving another array from one.")
      .def("scale", &WorkerView::scale, nb::arg("array").none(), nb::arg("factor"),
           "array *= factor, on the worker's device: takes simulated time, as NumPy's arithmetic does not.")
      .def("add", &WorkerView::add, nb::arg("array").none(), nb::arg("other").none(), nb::arg("factor") = 1.0F,
           "array += factor * other, likewise.");
  nb::class_<ReplicaView>(module, "Replica", "A worker's copy of the model, in a call of a strategy.")
      .def_prop_rw(
          "parameters", &ReplicaView::parameters, &ReplicaView::set_parameters, nb::rv_policy::automatic,
          "All parameters, a float32 array that shares the worker's memory; after the run it holds the last values.")
      .def_prop_rw("gradient", &ReplicaView::gradient, &ReplicaView::set_gradient, nb::rv_policy::automatic,
                   "In step: the gradient summed over this worker's samples of the minibatch, shared likewise.")
      .def_prop_ro("learning_rate", &ReplicaView::learning_rate, "The schedule's learning rate.")
      .def("update", &ReplicaView::update, "In step: updates the parameters by the gradient, with the run's optimiser.")
      .def("reset_momentum", &ReplicaView::reset_momentum, "Resets what the run's optimiser keeps between minibatches.");
}

}  // namespace paragrad::python
