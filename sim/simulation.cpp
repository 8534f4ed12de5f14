#include "sim/simulation.hpp"

#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "sim/compute/roofline.hpp"
#include "sim/engine/engine.hpp"
#include "sim/network/network.hpp"
#include "sim/transport.hpp"

namespace paragrad::sim {
namespace {

/// What all workers of one simulation share.
struct World {
  Engine engine;
  std::unique_ptr<Network> network;
  Transport transport;
  Roofline roofline;
  std::unique_ptr<backend::Device> meta = backend::make_device("meta");  // counts what a call would cost
  int workers;

  World(const Platform& platform, int workers_, const Options& options)
      : engine(static_cast<std::size_t>(workers_), options.host_threads),
        network(make_network(options.network, engine, platform)),
        transport(engine, *network, workers_, platform.eager_bytes),
        roofline(platform.device),
        workers(workers_) {}
};

class SimCommunicator : public comm::Communicator {
 public:
  SimCommunicator(World& world, int rank, backend::Device& device) : Communicator(device), world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return world_.workers; }

  comm::Request start_send(int to, int tag, std::span<const std::byte> data) override {
    return world_.transport.start_send(rank_, to, tag, data);
  }
  comm::Request start_receive(int from, int tag, std::span<std::byte> data) override {
    return world_.transport.start_receive(rank_, from, tag, data);
  }
  comm::Received wait(comm::Request request) override { return world_.transport.wait(request); }

  double now_s() override { return to_seconds(world_.engine.now()); }

  void add(std::span<const float> from, std::span<float> to) override {
    run_here([&](backend::Device& device) { device.add(from, to); });
  }

  void library_allreduce(std::span<float>) override {
    throw core::ConfigError(
        "the collective 'native' is MPI's own and does not exist among emulated workers: choose another");
  }

  /// Runs a task whose work is `expected` at least, on the host pool.
  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) {
    const backend::WorkMeter before = device().meter();
    world_.engine.compute(world_.roofline.duration(expected), task, [&] { return time_since(before); });
  }

  /// Runs kernels, at once if they are small, else on the host pool.
  void run_kernels(const std::function<void(backend::Device&)>& kernels) {
    const backend::WorkMeter before = world_.meta->meter();
    kernels(*world_.meta);
    backend::WorkMeter cost = world_.meta->meter();
    cost -= before;
    if (cost.of(backend::KernelKind::streaming).bytes < worth_a_thread_bytes &&
        cost.of(backend::KernelKind::gemm).calls == 0)
      run_here(kernels);
    else
      compute(cost, [&] { kernels(device()); });
  }

 private:
  // Handing a task to another thread takes some microseconds, as long as streaming through this much memory.
  static constexpr std::uint64_t worth_a_thread_bytes = 1024 * 1024;

  void run_here(const std::function<void(backend::Device&)>& kernels) {
    const backend::WorkMeter before = device().meter();
    kernels(device());
    world_.engine.sleep(time_since(before));
  }

  Time time_since(const backend::WorkMeter& before) {
    backend::WorkMeter work = device().meter();
    work -= before;
    return world_.roofline.duration(work);
  }

  World& world_;
  int rank_;
};

class SimWorker : public comm::Worker {
 public:
  explicit SimWorker(SimCommunicator& communicator) : Worker(communicator), communicator_(communicator) {}

  void compute(const backend::WorkMeter& expected, const std::function<void()>& task) override {
    if (computing_) return task();
    communicator_.compute(expected, [&] {
      const Inside inside(computing_);
      task();
    });
  }

  void run_kernels(const std::function<void(backend::Device&)>& kernels) override {
    if (computing_) return kernels(device());
    communicator_.run_kernels(kernels);
  }

 private:
  struct Inside {
    explicit Inside(bool& flag) : flag_(flag) { flag_ = true; }
    ~Inside() { flag_ = false; }
    bool& flag_;
  };

  SimCommunicator& communicator_;
  bool computing_ = false;
};

}  // namespace

Report run(const Platform& platform, int workers, const Options& options, const std::function<void(comm::Worker&)>& body) {
  if (workers < 1) throw core::ConfigError(core::format("{} workers cannot be emulated; give at least 1", workers));
  if (options.host_threads < 1) throw core::ConfigError("--host-threads must be at least 1");
  if (workers > platform.workers())
    throw core::ConfigError(core::format("platform '{}' has {} devices ({} nodes of {}), too few for {} workers",
                                         platform.name, platform.workers(), platform.nodes, platform.devices_per_node,
                                         workers));
  std::vector<std::unique_ptr<backend::Device>> devices;  // outlives the engine, whose end unwinds the workers' stacks
  for (int rank = 0; rank < workers; ++rank) devices.push_back(backend::make_device(options.device));
  World world(platform, workers, options);
  for (int rank = 0; rank < workers; ++rank)
    world.engine.spawn(static_cast<std::uint32_t>(rank), [&world, &body, &devices, rank] {
      SimCommunicator communicator(world, rank, *devices[static_cast<std::size_t>(rank)]);
      SimWorker worker(communicator);
      body(worker);
    });
  world.engine.run();
  return {to_seconds(world.engine.now()), world.transport.messages(), world.transport.bytes()};
}

Report run(int workers, const std::function<void(comm::Worker&)>& body) {
  return run(free_platform(workers), workers, Options{}, body);
}

}  // namespace paragrad::sim
