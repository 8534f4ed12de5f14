#include "python/worker_view.hpp"

#include <array>
#include <cstring>

#include "backend/kernels/descend.hpp"
#include "backend/kernels/scale.hpp"
#include "core/format.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::python {
namespace {

namespace nb = nanobind;

std::span<float> span_of(const FloatArray& array) { return {array.data(), array.size()}; }

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

void WorkerView::allreduce(FloatArray array) {
  call([&](comm::Worker& self) { (*allreduce_)(self.comm(), span_of(array)); });
}

double WorkerView::sum(double value) {
  call([&](comm::Worker& self) { comm::sum_in_rank_order(self.comm(), {&value, 1}); });
  return value;
}

void WorkerView::send(FloatArray array, int to) {
  check_peer(to);
  call([&](comm::Worker& self) { self.comm().send(to, 1, std::span<const float>(span_of(array))); });
}

void WorkerView::receive(FloatArray array, int source) {
  check_peer(source);
  call([&](comm::Worker& self) { self.comm().receive(source, 1, span_of(array)); });
}

void WorkerView::exchange(FloatArray sent, int to, FloatArray received, int source) {
  check_peer(to);
  check_peer(source);
  call([&](comm::Worker& self) {
    comm::Communicator& comm = self.comm();
    const std::array transfers{comm.start_receive(source, 1, span_of(received)),
                               comm.start_send(to, 1, std::span<const float>(span_of(sent)))};
    for (const comm::Request transfer : transfers) comm.wait(transfer);
  });
}

void WorkerView::scale(FloatArray array, float factor) {
  call([&](comm::Worker& self) { self.run(backend::Scale{factor, span_of(array)}); });
}

void WorkerView::add(FloatArray array, FloatArray other, float factor) {
  if (array.size() != other.size()) throw nb::value_error("the arrays differ in length");
  call([&](comm::Worker& self) { self.run(backend::Descend{-factor, 0, span_of(other), span_of(array)}); });
}

strategies::Replica& ReplicaView::replica() const {
  if (replica_ == nullptr) throw nb::value_error(after_the_run);
  return *replica_;
}

nb::ndarray<nb::numpy, float> ReplicaView::view(std::span<float> values) { return {values.data(), {values.size()}}; }

void ReplicaView::set(std::span<float> own, const FloatArray& values) {
  if (values.size() != own.size())
    throw nb::value_error(core::format("{} values cannot replace {}", values.size(), own.size()).c_str());
  std::memmove(own.data(), values.data(), own.size_bytes());  // often the same memory, as in `parameters *= 2`
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
      .def("allreduce", &WorkerView::allreduce, nb::arg("array").noconvert(),
           "Sums a float32 array over all workers in place, with the run's collective.")
      .def("sum", &WorkerView::sum, nb::arg("value"), "The sum of a number over all workers, in the order of their ranks.")
      .def("send", &WorkerView::send, nb::arg("array").noconvert(), nb::arg("to"),
           "Sends an array to a worker, which must receive it.")
      .def("receive", &WorkerView::receive, nb::arg("array").noconvert(), nb::arg("source"),
           "Receives an array of at most this length from a worker.")
      .def("exchange", &WorkerView::exchange, nb::arg("sent").noconvert(), nb::arg("to"), nb::arg("received").noconvert(),
           nb::arg("source"), "Sends an array to one worker while receiving another array from one.")
      .def("scale", &WorkerView::scale, nb::arg("array").noconvert(), nb::arg("factor"),
           "array *= factor, on the worker's device: takes simulated time, as NumPy's arithmetic does not.")
      .def("add", &WorkerView::add, nb::arg("array").noconvert(), nb::arg("other").noconvert(), nb::arg("factor") = 1.0F,
           "array += factor * other, likewise.");
  nb::class_<ReplicaView>(module, "Replica", "A worker's copy of the model, in a call of a strategy.")
      .def_prop_rw("parameters", &ReplicaView::parameters, &ReplicaView::set_parameters,
                   "All parameters, a float32 array that shares the worker's memory: valid until the run ends.")
      .def_prop_rw("gradient", &ReplicaView::gradient, &ReplicaView::set_gradient,
                   "In step: the gradient summed over this worker's samples of the minibatch, shared likewise.")
      .def_prop_ro("learning_rate", &ReplicaView::learning_rate, "The schedule's learning rate.")
      .def("update", &ReplicaView::update, "In step: updates the parameters by the gradient, with the run's optimiser.")
      .def("reset_momentum", &ReplicaView::reset_momentum, "Resets what the run's optimiser keeps between minibatches.");
}

}  // namespace paragrad::python
