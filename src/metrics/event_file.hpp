#pragma once

#include <map>
#include <span>
#include <string>
#include <variant>

#include "core/json_fwd.hpp"
#include "system/output_file.hpp"

namespace paragrad::metrics {

class ProtobufMessage;

/// The hyper-parameters of a run, by name. Text need not be UTF-8; invalid bytes become U+FFFD.
using Hyperparameters = std::map<std::string, std::variant<double, std::string>>;

/// The content of a run's metrics.jsonl for TensorBoard: a file of records (length, its checksum, data, their checksum),
/// each a TensorFlow Event in protocol buffers. A function of the records, the hyper-parameters and, with the wall clock,
/// the start time of the run.
///
/// * Each number of a record becomes a scalar (float32) of the same name, prefixed with epoch/, pretrain_1/ (the layer), or
///   result/ for the last record; samples_per_second, since the previous record, is added. NaN is left out.
/// * The step is the number of samples that all workers have processed in this training (it restarts at 0 for each
///   pretrained layer).
/// * The time of an event is the start of the run plus the seconds of its trainings so far, including pretraining. In real
///   runs that is Unix time when the file is opened, and a clock that is set later changes nothing; an interruption shifts
///   the start accordingly. Emulated runs start at simulated time 0 (1 January 1970), and no run starts before it.
/// * Hyper-parameters and the completion of the run are stored as messages of TensorBoard's hparams plugin. There is no
///   experiment message: without one, TensorBoard collects the hyper-parameters of all runs itself.
class EventFile {
 public:
  static constexpr const char* name = "events.out.tfevents.paragrad";  ///< TensorBoard recognises "tfevents"

  enum class Clock { wall, simulated };

  /// Writes a new file without records. Throws ConfigError on failure.
  EventFile(std::string path, Hyperparameters hyperparameters, Clock clock);

  /// Appends the event of a record of metrics.jsonl. Throws ConfigError on a full disk.
  void add(const core::Json& record);

  /// Rewrites the file to match these records, when a run is resumed after them.
  void replace(std::span<const core::Json> records);

 private:
  /// Progress through the records.
  struct Course {
    std::string training;  ///< prefix of the scalars' names
    double samples = 0;    ///< of this training
    double time_s = 0;     ///< likewise
    double before_s = 0;   ///< of the previous trainings

    /// Samples per second since the previous record, or of the whole training for the last one; not finite if no time
    /// passed.
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
  system::OutputFile out_;
};

}  // namespace paragrad::metrics
