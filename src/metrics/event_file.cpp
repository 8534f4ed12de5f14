#include "metrics/event_file.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/format.hpp"
#include "core/json.hpp"
#include "metrics/crc32c.hpp"
#include "metrics/protobuf.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::metrics {
namespace {

// Field numbers are from TensorFlow's event.proto, summary.proto, tensor.proto and tensor_shape.proto, of protocol
// buffers' struct.proto, and of plugin_data.proto of TensorBoard's hparams plugin.
using Message = ProtobufMessage;

double unix_time_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// The format of TFRecordWriter.
std::string framed(std::string_view data) {
  std::string record;
  append_little_endian(record, static_cast<std::uint64_t>(data.size()));
  append_little_endian(record, masked(crc32c(record)));
  record += data;
  append_little_endian(record, masked(crc32c(data)));
  return record;
}

std::string valid_utf8(const std::string& text) {
  return core::parse_json(core::text_of(core::Json(text))).get<std::string>();
}

/// google.protobuf.Value
Message value_message(const std::variant<double, std::string>& value) {
  if (const double* number = std::get_if<double>(&value)) return Message().float64(2, *number);
  return Message().text(3, valid_utf8(std::get<std::string>(value)));
}

/// SessionStartInfo of the hparams plugin
Message session_start(const Hyperparameters& hyperparameters, double time_s) {
  Message info;
  for (const auto& [name, value] : hyperparameters)
    info.message(1, Message().text(1, name).message(2, value_message(value)));
  return info.float64(5, time_s);
}

/// SessionEndInfo
Message session_end(double time_s) {
  constexpr int success = 1;
  return Message().integer(1, success).float64(2, time_s);
}

/// Summary.Value of the hparams plugin: metadata plus an empty float tensor.
/// field: number in HParamsPluginData
Message hparams_value(const char* tag, int field, const Message& content) {
  const Message plugin = Message().text(1, "hparams").message(2, Message().message(field, content));
  const Message no_tensor = Message().integer(1, 1).message(2, Message().message(2, Message()));  // type, one dimension of 0
  return Message().text(1, tag).message(8, no_tensor).message(9, Message().message(1, plugin));
}

/// Summary.Value
Message scalar(const std::string& tag, double value) { return Message().text(1, tag).float32(2, static_cast<float>(value)); }

bool is_end(const core::Json& record) { return record.contains("end"); }

double samples_of(const core::Json& record) { return record.at("samples").get<double>(); }

std::string scope_of(const core::Json& record) {
  if (is_end(record)) return "result";
  return record.contains("layer") ? core::format("pretrain_{}", record["layer"].get<int>()) : "epoch";
}

/// Whether a number of a record gives the position in the run rather than a measurement.
bool is_place(const std::string& name) {
  return name == "epoch" || name == "samples" || name == "blocks" || name == "layer";
}

}  // namespace

EventFile::EventFile(std::string path, Hyperparameters hyperparameters, Clock clock)
    : path_(std::move(path)), hyperparameters_(std::move(hyperparameters)), clock_(clock) {
  replace({});
}

void EventFile::add(const core::Json& record) { out_.write(event_of(record)); }

void EventFile::replace(std::span<const core::Json> records) {
  course_ = {};
  for (const core::Json& record : records) course_.follow(record);
  began_s_ = clock_ == Clock::wall ? std::max(0., unix_time_s() - course_.elapsed_s()) : 0;
  course_ = {};
  std::string content = head();
  for (const core::Json& record : records) content += event_of(record);
  system::replace_file(
      path_, [&](std::ostream& out) { out << content; }, system::Links::replace);
  out_ = system::OutputFile(path_, system::OutputFile::Begin::append);
}

double EventFile::Course::follow(const core::Json& record) {
  const double samples_now = samples_of(record);
  if (is_end(record)) return samples_now / record.at("training_s").get<double>();
  const double time_now_s = record.at("time_s").get<double>();
  if (const std::string name = scope_of(record); name != training) *this = {name, 0, 0, elapsed_s()};
  const double passed_s = time_now_s - std::exchange(time_s, time_now_s);
  return (samples_now - std::exchange(samples, samples_now)) / passed_s;
}

std::string EventFile::head() const {
  const Message version = Message().float64(1, began_s_).text(3, "brain.Event:2");
  const Message start = hparams_value("_hparams_/session_start_info", 3, session_start(hyperparameters_, began_s_));
  return framed(version.bytes()) + event(0, Message().message(1, start));
}

std::string EventFile::event_of(const core::Json& record) {
  const double samples_per_s = course_.follow(record);
  Message summary;
  const auto add = [&](const std::string& name, double value) {
    if (std::isfinite(value)) summary.message(1, scalar(core::format("{}/{}", scope_of(record), name), value));
  };
  for (const auto& [name, value] : record.items())
    if (value.is_number() && !is_place(name)) add(name, value.get<double>());
  add("samples_per_second", samples_per_s);
  if (is_end(record)) summary.message(1, hparams_value("_hparams_/session_end_info", 4, session_end(now_s())));
  return event(samples_of(record), summary);
}

std::string EventFile::event(double samples, const ProtobufMessage& summary) const {
  const Message event = Message().float64(1, now_s()).integer(2, static_cast<std::int64_t>(samples)).message(5, summary);
  return framed(event.bytes());
}

}  // namespace paragrad::metrics
