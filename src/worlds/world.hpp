#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/mpi/mpi_session.hpp"
#include "comm/worker.hpp"
#include "core/json_fwd.hpp"
#include "data/sample_stream.hpp"
#include "worlds/instruments.hpp"
#include "worlds/rank_facts.hpp"

namespace paragrad::worlds {

/// A process's part of a world.
struct Process {
  int rank = 0;     ///< of its first worker
  int workers = 1;  ///< in this process
  int size = 1;     ///< workers of the world

  bool leads() const { return rank == 0; }
};

/// Time that a simulated world adds to what a worker does. Empty in other worlds.
struct AddedTime {
  data::SampleStreamDecorator reading{};  ///< adds that of reading its samples to a stream of them
  std::function<void()> saving{};         ///< passes that of saving its state
};

/// What a command has the workers of a world do. The functions are called in this order, in every process unless they say
/// otherwise.
class Job {
 public:
  virtual ~Job() = default;

  /// In the leading process: whether there is anything to do. Throws ConfigError.
  virtual bool is_needed() { return true; }

  /// Reads and opens what the work needs. If it throws a ConfigError in any process, the command ends in all of them, with
  /// one message.
  virtual void prepare(const Process&) {}

  /// What prepare() has read and must be the same in all processes; the command ends as above if it is not.
  virtual RankFacts facts() const { return {}; }

  /// A number that the leading process found in prepare(), and that the others are told.
  virtual int finding() const { return 0; }
  virtual void adopt(int /*finding*/) {}

  /// What the simulator is told: bytes in the file system per row of samples; and the instruments that watch its messages.
  virtual std::size_t row_bytes() const { return 0; }
  virtual Instruments* instruments() { return nullptr; }

  /// On every worker.
  virtual void work(comm::Worker& worker, const AddedTime& added) = 0;

  /// In the leading process. world: what a manifest records about a world at its end; null if nothing.
  virtual void finish(const core::Json& /*world*/) {}
};

/// Where the workers of a command run.
class World {
 public:
  virtual ~World() = default;

  virtual const char* name() const = 0;   ///< in manifests
  virtual const char* clock() const = 0;  ///< of its times: "wall" or "simulated"

  /// Adds to a manifest what is known before the work.
  virtual void describe(core::Json& /*manifest*/) const {}

  /// Returns the exit code, or throws what ends the command (see main.cpp).
  virtual int run(Job& job) = 0;
};

/// How a world of MPI ranks meets the death of a rank.
struct RankDeaths {
  comm::MpiSession::Deaths deaths = comm::MpiSession::Deaths::end_all;  ///< the worker decides when they may be survived
  comm::GuardOptions guard{};
};

/// How many workers and servers a real world has, and what is known of their nodes.
struct RealWorkers {
  int count = 0;     ///< 0: one, or under mpiexec as many as ranks
  int per_node = 0;  ///< overrides what MPI found; 0: does not
};

/// Under mpiexec the ranks are the workers, or share them if there are more workers; otherwise they are all in this process.
/// Make and run it before this process uses a device. Under mpiexec, run() refuses a count that is less than that of the
/// ranks, and ranks that differ in the facts of the command. Throws ConfigError if a launcher has started several processes
/// that do not find each other.
std::unique_ptr<World> make_real_world(const RankFacts& facts, const std::string& device, const RealWorkers& workers = {},
                                       const RankDeaths& deaths = {});

}  // namespace paragrad::worlds
