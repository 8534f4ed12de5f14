#include "data/csv_import.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "data/csv_reader.hpp"

namespace paragrad::data {
namespace {

/// Of a number beyond the range of double, 0 or infinity.
double beyond_range(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  const bool small =
      exponent != std::string_view::npos ? text[exponent + 1] == '-' : text.find_first_of("123456789") > text.find('.');
  return small ? 0 : std::numeric_limits<double>::infinity();
}

/// A whole text as a number, with a point for decimals whatever the locale. May be infinite or NaN.
std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || rest != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return beyond_range(text);
  return value;
}

/// The labels of all records and what they say.
class CsvLabels {
 public:
  void add(const std::string& text, std::size_t line) {
    const auto [found, is_new] =
        found_.try_emplace(text, Label{static_cast<std::int32_t>(found_.size()), line, number_in(text)});
    ++found->second.count;
    numbers_.push_back(found->second.number);
  }

  /// Gives each record the number of its class. Sets classes and class_names.
  std::vector<std::int32_t> classes(const std::string& path, std::size_t first_line, DatasetInfo& info) const {
    check(path, first_line);
    std::vector<std::int32_t> class_of(found_.size());  // by number of appearance
    if (std::ranges::all_of(found_, [](const auto& one) { return is_class(one.second.value); })) {
      for (const auto& [text, label] : found_)
        class_of[static_cast<std::size_t>(label.number)] = static_cast<std::int32_t>(*label.value);
      info.classes = static_cast<std::size_t>(std::ranges::max(class_of)) + 1;
    } else {
      std::vector<std::pair<std::string, Label>> sorted(found_.begin(), found_.end());
      if (all_numbers()) std::ranges::stable_sort(sorted, {}, [](const auto& one) { return *one.second.value; });
      for (const auto& [text, label] : sorted) {
        class_of[static_cast<std::size_t>(label.number)] = static_cast<std::int32_t>(info.class_names.size());
        info.class_names.push_back(text);
      }
      info.classes = sorted.size();
    }
    std::vector<std::int32_t> result;
    for (const std::int32_t number : numbers_) result.push_back(class_of[static_cast<std::size_t>(number)]);
    return result;
  }

 private:
  struct Label {
    std::int32_t number;  // by first appearance
    std::size_t line;     // of it
    std::optional<double> value;
    std::size_t count = 0;
  };

  static bool is_class(const std::optional<double>& value) {
    return value && *value >= 0 && *value < std::numeric_limits<std::int32_t>::max() && std::floor(*value) == *value;
  }
  bool all_numbers() const {
    return std::ranges::all_of(found_, [](const auto& one) { return one.second.value.has_value(); });
  }

  void check(const std::string& path, std::size_t first_line) const {
    std::size_t texts = 0;
    const std::string* one = nullptr;
    for (const auto& [text, label] : found_) {
      if (label.value) continue;
      texts += label.count;
      one = &text;
    }
    if (texts == 1 && numbers_.size() > 1 && found_.at(*one).line == first_line)
      throw core::ConfigError(
          core::format("only the first label of '{}', '{}', is no number: say with `header` yes or no whether "
                       "line {} names the columns",
                       path, *one, first_line));
    if (!all_numbers()) return;
    for (const auto& [text, label] : found_)
      if (std::floor(*label.value) != *label.value)
        throw core::ConfigError(
            core::format("the label '{}' in line {} of '{}' is a number with decimals, not a class: choose "
                         "the column of the classes with `label`, or name the columns of real-valued `targets`",
                         text, label.line, path));
  }

  std::map<std::string, Label> found_;  // alphabetically
  std::vector<std::int32_t> numbers_;   // of each record's label
};

char separator_of(const std::string& name) {
  if (name == "auto") return '\0';
  if (name == "comma") return ',';
  if (name == "semicolon") return ';';
  if (name == "tab") return '\t';
  throw core::unknown_name("separator", name, {"auto", "comma", "semicolon", "tab"});
}

class CsvImport {
 public:
  explicit CsvImport(const ImportCsvOptions& options)
      : options_(options), file_(options.file), reader_(file_, separator_of(options.separator)) {
    if (options.header != "auto" && options.header != "yes" && options.header != "no")
      throw core::unknown_name("header", options.header, {"auto", "yes", "no"});
  }

  DatasetInfo run() {
    CsvRecord record;
    if (!reader_.next(record)) throw core::ConfigError(core::format("'{}' is empty", options_.file));
    begin(record);
    bool more = names_.empty() || reader_.next(record);
    if (!more)
      throw core::ConfigError(core::format("'{}' contains no records after the names of its columns", options_.file));
    const std::size_t first_line = record.line;
    for (; more; more = reader_.next(record)) add(record);
    DatasetInfo info;
    info.dim = columns_ - answers_.size();
    info.targets = options_.targets.size();
    if (info.targets == 0) samples_.labels = labels_.classes(options_.file, first_line, info);
    info.source_sha256 = {core::format("{}: {}", file_.name(), file_.sha256())};
    ImportedSubsets subsets;
    subsets[0] = std::move(samples_);
    return write_samples(options_, std::move(info), "CSV", std::move(subsets));
  }

 private:
  /// Learns from the first record how many columns there are, which of them are labels or targets and what they are called.
  void begin(const CsvRecord& record) {
    columns_ = record.fields.size();
    line_of_columns_ = record.line;
    if (columns_ < 2)
      throw core::ConfigError(
          core::format("'{}' has only one column in line {}: give a table of features and labels or targets, and its "
                       "`separator`",
                       options_.file, record.line));
    bool by_name = false;
    if (!options_.targets.empty())
      for (const std::string& target : options_.targets) by_name |= find("targets", target, record);
    else if (!options_.label.empty())
      by_name = find("label", options_.label, record);
    else
      answers_.push_back(columns_ - 1);
    if (answers_.size() == columns_)
      throw core::ConfigError(core::format("all columns of '{}' are `targets`, so there are no features", options_.file));
    if (by_name || options_.header == "yes" || (options_.header == "auto" && seems_header(record))) names_ = record.fields;
  }

  /// Finds the column that an option names or numbers. Returns whether it does so by name.
  bool find(std::string_view option, const std::string& text, const CsvRecord& record) {
    const std::optional<std::size_t> number = number_of_column(option, text);
    answers_.push_back(number ? *number : column_called(option, text, record));
    if (std::ranges::count(answers_, answers_.back()) > 1)
      throw core::ConfigError(core::format("`{}` names column {} twice", option, answers_.back() + 1));
    return !number;
  }

  std::optional<std::size_t> number_of_column(std::string_view option, const std::string& text) const {
    std::size_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (rest != text.data() + text.size()) return std::nullopt;
    if (error != std::errc() || number < 1 || number > columns_)
      throw core::ConfigError(
          core::format("'{}' has {} columns, so `{}` cannot be {}", options_.file, columns_, option, text));
    return number - 1;
  }

  std::size_t column_called(std::string_view option, const std::string& text, const CsvRecord& record) const {
    const auto& names = record.fields;
    if (options_.header == "no")
      throw core::ConfigError(
          core::format("without a header there is no column '{}': give `{}` the number of a column", text, option));
    const auto count = std::ranges::count(names, text);
    if (count != 1)
      throw core::ConfigError(
          core::format("'{}' has {} column '{}' in line {}: `{}` is one of {}, or the number of a column", options_.file,
                       count == 0 ? "no" : "more than one", text, record.line, option, core::join(names, ", ")));
    return static_cast<std::size_t>(std::ranges::find(names, text) - names.begin());
  }

  bool is_feature(std::size_t column) const { return std::ranges::find(answers_, column) == answers_.end(); }

  bool seems_header(const CsvRecord& record) const {
    std::size_t numbers = 0;
    for (std::size_t i = 0; i < columns_; ++i) numbers += is_feature(i) && number_in(record.fields[i]);
    if (numbers > 0 && numbers < columns_ - answers_.size())
      throw core::ConfigError(
          core::format("line {} of '{}' contains numbers and other texts: say with `header` yes or no "
                       "whether it names the columns",
                       record.line, options_.file));
    return numbers == 0;
  }

  void add(const CsvRecord& record) {
    if (record.fields.size() != columns_)
      throw core::ConfigError(core::format("line {} of '{}' has {} fields, but line {} has {}", record.line, options_.file,
                                           record.fields.size(), line_of_columns_, columns_));
    for (std::size_t i = 0; i < columns_; ++i) {
      const std::string& text = record.fields[i];
      if (text.empty()) throw refused(record, i, "is missing: fill it in, or leave the record out");
      if (is_feature(i)) samples_.values.push_back(number(record, i));
    }
    if (options_.targets.empty()) return add_label(record, answers_.front());
    for (const std::size_t column : answers_) samples_.targets.push_back(number(record, column));
  }

  void add_label(const CsvRecord& record, std::size_t column) {
    const std::string& text = record.fields[column];
    if (number_in(text) && !std::isfinite(*number_in(text)))
      throw refused(record, column, core::format("is the label '{}', which is no class", text));
    labels_.add(text, record.line);
  }

  float number(const CsvRecord& record, std::size_t column) const {
    const std::string& text = record.fields[column];
    const std::optional<double> value = number_in(text);
    if (!value) throw refused(record, column, core::format("is '{}', which is not a number", text));
    if (!std::isfinite(*value) || std::abs(*value) > std::numeric_limits<float>::max())
      throw refused(record, column, core::format("is '{}', which is not a finite number of float32", text));
    return static_cast<float>(*value);
  }

  core::ConfigError refused(const CsvRecord& record, std::size_t column, const std::string& why) const {
    const std::string name = names_.empty() ? "" : core::format(" ('{}')", names_[column]);
    return core::ConfigError(
        core::format("column {}{} in line {} of '{}' {}", column + 1, name, record.line, options_.file, why));
  }

  const ImportCsvOptions& options_;
  GzipFile file_;
  CsvReader reader_;
  std::size_t columns_ = 0, line_of_columns_ = 0;
  std::vector<std::size_t> answers_;  // the columns of the label or of the targets
  std::vector<std::string> names_;    // of the columns, if they have any
  ImportedSamples samples_;
  CsvLabels labels_;
};

}  // namespace

DatasetInfo import_csv(const ImportCsvOptions& options) { return CsvImport(options).run(); }

}  // namespace paragrad::data
