#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "comm/worker.hpp"
#include "core/scoped_flag.hpp"
#include "sim/workers/sim_communicator.hpp"
#include "sim/workers/storage_stream.hpp"
#include "sim/workers/task_fiber.hpp"

namespace paragrad::sim {

/// An emulated worker.
class SimWorker : public EmulatedWorker {
 public:
  explicit SimWorker(SimCommunicator& communicator)
      : EmulatedWorker(communicator, true),
        communicator_(communicator),
        tasks_(communicator.cluster(), communicator.rank(), communicator.device().name(), "the communication tasks of",
               communicator.cluster().traffic[static_cast<std::size_t>(communicator.rank())]),
        service_(communicator.cluster(), communicator.rank(), communicator.device().name(), "the service of",
                 communicator.cluster().service_traffic),
        reader_(communicator.cluster(), communicator.rank(), communicator.device().name(), "the data of", nullptr) {}

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override {
    if (computing_) return task();
    const auto alone = [&] {
      const core::ScopedFlag inside(computing_);
      task();
    };
    communicator_.compute(expected, alone, communicator_.cluster().compute_scale);
  }

  void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) override {
    if (computing_) return kernels(device());
    communicator_.run_kernels(kernels);
  }

  void launch(Task task) override {
    if (computing_) throw std::logic_error("a task was launched from within a computation");
    communicator_.cluster().forbid_shortcuts();
    if (overlap() == 1) return tasks_.launch(std::move(task));
    tasks_.launch([this, task = std::move(task)](comm::Communicator& comm) {
      const Time begin = engine().own_time();
      task(comm);
      exchanged_ += engine().own_time() - begin;
    });
  }
  void join() override {
    if (overlap() == 1) return tasks_.join();
    const Time begin = engine().own_time();
    tasks_.join();
    const Time waited = engine().own_time() - begin, beside = std::max(Time{0}, std::exchange(exchanged_, 0) - waited);
    engine().pass(from_picoseconds(static_cast<double>(beside) * (1 - overlap())));
  }
  void serve(Task task) override {
    if (computing_) throw std::logic_error("a service was begun from within a computation");
    if (service_.occupied()) throw std::logic_error("a worker has one service at a time");
    communicator_.cluster().forbid_shortcuts();
    service_.launch(std::move(task));
  }
  void join_service() override { service_.join(); }
  void abandon_tasks() noexcept override {
    tasks_.abandon();
    service_.abandon();
    reader_.abandon();
  }

  std::unique_ptr<data::SampleStream> read_from_storage(std::unique_ptr<data::SampleStream> samples) override {
    if (communicator_.cluster().io == Io::none) return samples;
    return std::make_unique<StorageStream>(std::move(samples), communicator_.cluster(), rank(), reader_);
  }

  void pass(double seconds) override { engine().pass(from_seconds(seconds)); }

  void finish() {  ///< the last call
    tasks_.finish();
    service_.finish();
    reader_.finish();
  }

 private:
  Engine& engine() { return communicator_.cluster().engine; }
  double overlap() const { return communicator_.cluster().platform.program.overlap; }

  SimCommunicator& communicator_;
  TaskFiber tasks_;
  TaskFiber service_;
  TaskFiber reader_;
  bool computing_ = false;
  Time exchanged_ = 0;  // by tasks since the last join
};

}  // namespace paragrad::sim
