#pragma once

#include <fstream>
#include <map>
#include <span>
#include <string>
#include <variant>

#include "core/json.hpp"

namespace paragrad::metrics {

class ProtobufMessage;

/// What a run is made with, by name. Texts need not be UTF-8; what is not comes out as U+FFFD.
using Hyperparameters = std::map<std::string, std::variant<double, std::string>>;

/// What a run's metrics.jsonl tells, for TensorBoard: a file of records (length, its checksum, data, their checksum), each
/// an Event of TensorFlow in protocol buffers. A function of the records, the hyper-parameters and, with the wall clock, the
/// time at which the run began.
///
/// * Each number of a record is a scalar (float32), named like there behind epoch/, pretrain_1/ (the layer), or result/ for
///   the last record; samples_per_second, since the record before, comes in addition. NaN is left out.
/// * The step is the samples that all workers have processed in this training (pretraining of each layer begins at 0).
/// * The time of an event is when the run began plus the seconds that its trainings took until then, pretraining among them.
///   In real runs that is Unix time; where one was interrupted, it counts as begun so much later. Emulated runs began at 0
///   (1 January 1970) of their simulated time.
/// * Hyper-parameters, and that the run is complete, are told by the messages of TensorBoard's hparams plugin. There is no
///   message about the experiment: without one, TensorBoard finds out for itself which runs have which hyper-parameters.
class EventFile {
 public:
  static constexpr const char* name = "events.out.tfevents.paragrad";  ///< TensorBoard goes by its middle

  enum class Clock { wall, simulated };

  /// Writes a new file, without records. Throws ConfigError if that is not possible.
  EventFile(std::string path, Hyperparameters hyperparameters, Clock clock);

  /// Appends what a record of metrics.jsonl tells. Throws ConfigError on a full disk.
  void add(const core::Json& record);

  /// Writes the file anew: as it is when a run is taken up behind these records.
  void replace(std::span<const core::Json> records);

 private:
  /// How far the records lead.
  struct Course {
    std::string training;  ///< the first part of the scalars' names
    double samples = 0;    ///< of this training
    double time_s = 0;     ///< likewise
    double before_s = 0;   ///< of the trainings before

    /// Samples per second since the record before, or of the whole training if it is the last; not finite if no time passed.
    double follow(const core::Json& record);
    double elapsed_s() const { return before_s + time_s; }
  };

  std::string head() const;
  std::string event_of(const core::Json& record);
  std::string event(double samples, const ProtobufMessage& summary) const;
  double now_s() const { return began_s_ + course_.elapsed_s(); }

  std::string path_;
  Hyperparameters hyperparameters_;
  Clock clock_;
  double began_s_ = 0;
  Course course_;
  std::ofstream out_;
};

}  // namespace paragrad::metrics
