#include "predict/measured_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "cli/option_values.hpp"
#include "data/csv_reader.hpp"
#include "data/gzip_file.hpp"
#include "predict/row_reader.hpp"

namespace paragrad::predict {
namespace {

/// The columns that hold what was measured; all others say of what.
constexpr std::string_view measures[] = {"samples_per_s", "s_per_step", "time"};

/// A record by the names of its columns.
class Record {
 public:
  Record(const std::vector<std::string>& names, const std::vector<std::string>& fields, Place place)
      : place(std::move(place)) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!fields[i].empty()) fields_[names[i]] = fields[i];
  }

  bool has(const std::string& name) const { return fields_.contains(name); }

  /// "" if it is empty. Removes it.
  std::string take(const std::string& name) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return "";
    std::string text = std::move(found->second);
    fields_.erase(found);
    return text;
  }
  std::string need(const std::string& name) {
    if (!has(name)) place.refuse(core::format("{} is missing", name));
    return take(name);
  }
  const std::map<std::string, std::string>& left() const { return fields_; }

  /// All of it.
  std::string text() const {
    std::string text;
    for (const auto& [name, value] : fields_) text += core::format("{}={}\n", name, value);
    return text;
  }

  Place place;

 private:
  std::map<std::string, std::string> fields_;
};

MeasuredRow training_row(Record& record) {
  MeasuredRow row;
  const Place& place = record.place;
  row.workers = place.count("workers", record.need("workers"));
  const std::string model = record.need("model");
  const std::string bytes = record.take("bytes");
  std::vector<std::string> words{core::format("--model={}", model), core::format("--workers={}", row.workers)};
  if (record.has("minibatch") == record.has("minibatch-per-worker"))
    place.refuse("give minibatch (of all workers together) or minibatch-per-worker");
  const std::string each = record.take("minibatch-per-worker");
  for (const char* const name : {"platform", "config", "out"})
    if (record.has(name)) place.refuse(core::format("a row has no {}", name));
  for (const auto& [name, value] : record.left()) words.push_back(core::format("--{}={}", name, value));
  row.what = core::format("{} on {}", model, row.workers);
  const auto make = [&](std::int64_t factor) {
    auto all = words;
    if (!each.empty()) all.push_back(core::format("--minibatch={}", factor * place.count("minibatch-per-worker", each)));
    return place.guarded<TimingRun>([&] { return TimingRun(all); });
  };
  row.training.emplace(make(row.workers));
  if (!each.empty() && !row.training->shares_minibatches()) row.training.emplace(make(1));
  if (!bytes.empty() && place.positive("bytes", bytes) != static_cast<double>(row.training->gradient_bytes()))
    place.refuse(core::format("the gradients of {} have {} bytes, not {}", model, row.training->gradient_bytes(), bytes));
  return row;
}

MeasuredRow collective_row(Record& record) {
  const std::string operation = record.need("operation"), algorithm = record.take("collective");
  const int workers = record.place.count("workers", record.need("workers"));
  const double bytes = record.place.guarded<double>([&] { return cli::parse_size("bytes", record.need("bytes"), 0, 1e15); });
  const std::string given = algorithm.empty() ? CollectiveSettings{}.collective : algorithm;
  MeasuredRow row = collective_row(record.place, operation, given, workers, bytes);
  if (!record.left().empty())
    record.place.refuse(core::format("a row of a collective has no {}", core::printable(record.left().begin()->first)));
  return row;
}

MeasuredRow row_of(Record record) {
  const std::string use = record.take("use"), series = record.take("series");
  std::istringstream hosts(record.take("hosts"));
  if (use != "" && use != "fit" && use != "predict")
    record.place.refuse(core::format("use is '{}': write fit or predict", core::printable(use)));
  MeasuredRow row = record.has("operation") ? collective_row(record) : training_row(record);
  row.fits = use != "predict";
  row.series = series;
  row.hosts = {std::istream_iterator<std::string>(hosts), {}};
  if (!series.empty()) row.what += core::format(" ({})", core::printable(series));
  return row;
}

/// What was measured, in the unit of the row's times; 0: nothing.
double measured(const Place& place, const MeasuredRow& row, const std::map<std::string_view, std::string>& given) {
  if (given.empty() && row.fits)
    place.refuse("nothing was measured: give samples_per_s, s_per_step or, of a collective, time");
  if (given.empty()) return 0;
  const auto& [name, text] = *given.begin();
  if (given.size() > 1) place.refuse(core::format("give {} or {}, not both", name, std::next(given.begin())->first));
  if ((name == "time") != !row.training)
    place.refuse(row.training ? "of a training give samples_per_s or s_per_step, not time"
                              : "of a collective give its time");
  if (name == "time") return place.time(text);
  const double value = place.positive(name, text);
  return name == "samples_per_s" ? 1 / value : value / static_cast<double>(row.training->samples_per_step());
}

std::vector<std::string> names_of(const std::string& file, const data::CsvRecord& header) {
  std::vector<std::string> names;
  std::set<std::string> before;
  const Place place(file, header.line);
  for (std::string name : header.fields) {
    if (name.empty()) place.refuse("a column has no name");
    if (name != "samples_per_s" && name != "s_per_step") std::ranges::replace(name, '_', '-');
    if (!before.insert(name).second) place.refuse(core::format("there are two columns '{}'", core::printable(name)));
    names.push_back(std::move(name));
  }
  if (!before.contains("workers"))
    place.refuse("this is neither a table with a column 'workers' nor the output of nccl-tests");
  return names;
}

void read_table(const std::string& path, Rows& rows) {
  data::GzipFile file(path);
  data::CsvReader reader(file, '\0');
  data::CsvRecord line;
  if (!reader.next(line)) throw core::ConfigError(core::format("'{}' is empty", core::printable(path)));
  const std::vector<std::string> names = names_of(path, line);
  bool is_empty = true;
  for (; reader.next(line); is_empty = false) {
    const Place place(path, line.line);
    if (line.fields.size() != names.size())
      place.refuse(core::format("{} fields for {} columns", line.fields.size(), names.size()));
    Record record(names, line.fields, place);
    std::map<std::string_view, std::string> given;
    for (const std::string_view name : measures)
      if (std::string text = record.take(std::string(name)); !text.empty()) given[name] = std::move(text);
    const std::string key = record.text();
    MeasuredRow* row = rows.find(key);
    if (row == nullptr) {
      MeasuredRow made = row_of(std::move(record));
      made.where = where_of(path, line.line);
      row = &rows.add(key, std::move(made));
    }
    if (const double time_s = measured(place, *row, given); time_s > 0) row->times_s.push_back(time_s);
  }
  if (is_empty) throw core::ConfigError(core::format("'{}' has names of columns, and no row", core::printable(path)));
}

/// Whether the beginning of a file is that of nccl-tests.
bool is_nccl_tests(const std::string& text) {
  return text.find("busbw") != std::string::npos && text.find("algbw") != std::string::npos && text.find('#') < 4096;
}

std::string beginning_of(const std::string& path, std::size_t most) {
  data::GzipFile file(path);
  std::vector<std::uint8_t> bytes(most);
  std::size_t size = 0;
  while (const std::size_t read = file.read(std::span(bytes).subspan(size))) size += read;
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace

int nodes_of(const MeasuredRow& row, const sim::Platform& platform) {
  return row.training ? row.training->nodes(platform)
                      : (row.workers + platform.devices_per_node - 1) / platform.devices_per_node;
}

void require_network(const MeasuredRow& row, const sim::Platform& platform) {
  const int nodes = nodes_of(row, platform);
  if (nodes > 1 && platform.leaf.bytes_per_s == 0)
    throw core::ConfigError(core::format("{}: {} workers need {} nodes, and the platform '{}' has no section [leaf]",
                                         row.where, row.workers, nodes, core::printable(platform.name)));
}

double time_of(const MeasuredRow& row, sim::Platform platform) {
  require_network(row, platform);
  platform.nodes = std::max(platform.nodes, nodes_of(row, platform));
  return emulate_once(row.collective, platform, row.workers, row.floats).least_s();
}

sim::fitting::Row row_of_collective(const MeasuredRow& row, const sim::Platform& platform) {
  using sim::fitting::Reach;
  const Reach reach = row.workers == 1 ? Reach::device : nodes_of(row, platform) == 1 ? Reach::node : Reach::network;
  sim::fitting::Row made{.name = row.what, .reach = reach, .by_nccl = row.collective.collective == "nccl"};
  made.time = [row](const sim::Platform& where, double) { return sim::fitting::Timed{time_of(row, where), 1}; };
  return made;
}

std::vector<MeasuredRow> read_measured_rows(const std::vector<std::string>& files, const std::string& operation) {
  constexpr std::size_t longest_output = 1 << 20;  // of nccl-tests
  Rows rows;
  bool is_used = operation.empty();
  for (const std::string& path : files) {
    const std::string text = beginning_of(path, longest_output);
    if (is_nccl_tests(text) && text.size() == longest_output)
      throw core::ConfigError(core::format("'{}' is too long for the output of nccl-tests", core::printable(path)));
    is_used = is_used || is_nccl_tests(text);
    if (is_nccl_tests(text))
      read_nccl_tests(path, text, operation, rows);
    else
      read_table(path, rows);
  }
  if (!is_used && !files.empty())
    throw core::ConfigError("--operation is for the output of nccl-tests, and none of the files is one: leave it out");
  return rows.take();
}

double MeasuredRow::median_s() const {
  const std::size_t half = times_s.size() / 2;
  if (times_s.empty()) return 0;
  return times_s.size() % 2 == 1 ? times_s[half] : std::sqrt(times_s[half - 1] * times_s[half]);
}

}  // namespace paragrad::predict
