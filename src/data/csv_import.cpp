#include "data/csv_import.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/numbers.hpp"
#include "core/options.hpp"
#include "data/csv_header.hpp"
#include "data/csv_reader.hpp"
#include "data/importer.hpp"
#include "data/rounded_columns.hpp"
#include "data/text_labels.hpp"

namespace paragrad::data {
namespace {

char separator_of(const std::string& name) {
  if (name == "auto") return '\0';
  if (name == "comma") return ',';
  if (name == "semicolon") return ';';
  if (name == "tab") return '\t';
  if (name == "space") return ' ';
  throw core::unknown_name("separator", name, {"auto", "comma", "semicolon", "tab", "space"});
}

class CsvImport {
 public:
  explicit CsvImport(const ImportCsvOptions& options)
      : options_(options),
        file_(options.file),
        reader_(file_, separator_of(options.separator), options.decimal == "comma"),
        path_(&options.file) {
    core::require_valid(options);
  }

  Imported run() {
    CsvRecord record;
    if (!reader_.next(record)) throw core::ConfigError(core::format("'{}' is empty", options_.file));
    begin(record);
    bool more = names_.empty() || reader_.next(record);
    if (!more)
      throw core::ConfigError(core::format("'{}' contains no records after the names of its columns", options_.file));
    for (; more; more = reader_.next(record)) add(record);
    if (subsets_[0].empty()) throw core::ConfigError(core::format("no record of '{}' has a label", options_.file));
    check_first_record();
    Imported info;
    info.source_sha256 = {core::format("{}: {}", file_.name(), file_.sha256())};
    comments_ = reader_.comments();
    labels_.close();
    if (!options_.valid_from.empty()) read_other(Subset::valid, options_.valid_from, info);
    if (!options_.test_from.empty()) read_other(Subset::test, options_.test_from, info);
    info.dim = features_.size();
    info.widths.targets = options_.targets.size();
    if (info.widths.targets == 0) labels_.to_classes(options_.file, info, subsets_);
    if (!names_.empty())
      for (const std::size_t column : features_) info.names_of_features.push_back(names_[column]);
    report(info);
    return write_samples(options_, std::move(info), "CSV", std::move(subsets_));
  }

 private:
  /// A separate table for the validation or test set, with the columns of the training table.
  void read_other(Subset subset, const std::string& path, Imported& info) {
    GzipFile file(path);
    CsvReader reader(file, reader_.separator());
    path_ = &path;
    into_ = &subsets_[static_cast<std::size_t>(subset)];
    CsvRecord record;
    bool more = reader.next(record);
    if (more && is_header_of_other(record)) more = reader.next(record);
    if (!more) throw core::ConfigError(core::format("'{}' contains no records", path));
    for (; more; more = reader.next(record)) add(record);
    if (into_->empty()) throw core::ConfigError(core::format("no record of '{}' has a label", path));
    comments_ += reader.comments();
    info.source_sha256.push_back(core::format("{}: {}", file.name(), file.sha256()));
    info.taken.push_back(core::format("{} set: '{}'", subset == Subset::valid ? "validation" : "test", path));
  }

  /// Whether the first record of such a table names the columns. Throws ConfigError if it names others.
  bool is_header_of_other(const CsvRecord& record) const {
    if (names_.empty() || record.fields == names_) return !names_.empty();
    const auto is_number = [&](const std::string& text) { return number_in(text).has_value(); };
    if (options_.header == "auto" && std::ranges::any_of(record.fields, is_number)) return false;
    std::size_t column = 0;
    while (column < std::min(columns_, record.fields.size()) && record.fields[column] == names_[column]) ++column;
    const auto called = [&](const std::vector<std::string>& names) {
      return column < names.size() ? core::format("'{}'", names[column]) : std::string("missing");
    };
    throw core::ConfigError(
        core::format("column {} is {} in line {} of '{}', but {} in '{}': the tables must have the same columns", column + 1,
                     called(record.fields), record.line, *path_, called(names_), options_.file));
  }

  /// Learns from the first record how many columns there are, what they are called and which are labels or targets.
  void begin(const CsvRecord& record) {
    columns_ = record.fields.size();
    line_of_columns_ = record.line;
    if (columns_ < 2)
      throw core::ConfigError(
          core::format("'{}' has only one column in line {}: give a table of features and labels or targets, and its "
                       "`separator`",
                       options_.file, record.line));
    bool by_name = false;
    for (const std::string& column : options_.leave_out) by_name |= find("leave-out", column, record, left_out_);
    if (record.fields.back().empty() && !is_left_out(columns_ - 1))
      throw core::ConfigError(core::format(
          "line {} of '{}' ends with a separator, so its last column, {}, is empty: remove the separator, or leave the "
          "column out with `leave-out` {}",
          record.line, options_.file, columns_, columns_));
    for (const std::string& target : options_.targets) by_name |= find("targets", target, record, answers_);
    if (!options_.label.empty()) by_name |= find("label", options_.label, record, answers_);
    if (answers_.empty()) answers_.push_back(last_column());
    for (std::size_t i = 0; i < columns_; ++i)
      if (!is_answer(i) && !is_left_out(i)) features_.push_back(i);
    if (features_.empty())
      throw core::ConfigError(core::format("all columns of '{}' are {}, so there are no features", options_.file,
                                           left_out_.empty() ? "`targets`" : "left out, labels or targets"));
    if (by_name || options_.header == "yes" || (options_.header == "auto" && seems_header(record))) names_ = record.fields;
    check_names(record.line);
    feature_rounding_.emplace(features_.size());
    target_rounding_.emplace(options_.targets.size());
  }

  std::size_t last_column() const {
    std::size_t last = columns_;
    while (last > 0 && is_left_out(last - 1)) --last;
    if (last == 0) throw core::ConfigError(core::format("`leave-out` names all columns of '{}'", options_.file));
    return last - 1;
  }

  /// Refuses features without a name, and to take the last column for the labels if another is called that.
  void check_names(std::size_t line) const {
    if (names_.empty()) return;
    for (const std::size_t column : features_)
      if (names_[column].empty() || names_[column].starts_with("Unnamed: "))
        throw core::ConfigError(core::format(
            "column {} of '{}' {} in line {}, like the row numbers that pandas and R write: leave it out with "
            "`leave-out` {}, or give it a name",
            column + 1, options_.file,
            names_[column].empty() ? "has no name" : core::format("is called '{}'", names_[column]), line, column + 1));
    const std::size_t labels = column_of_labels(names_);
    if (options_.label.empty() && options_.targets.empty() && labels < columns_ && !is_left_out(labels) &&
        column_of_labels({names_[answers_.front()]}) == 1)
      throw core::ConfigError(
          core::format("'{}' has a column '{}', but the labels would be taken from the last one, '{}': choose with `label`",
                       options_.file, names_[labels], names_[answers_.front()]));
  }

  /// Finds the column that an option names or numbers. Returns whether it does so by name.
  bool find(std::string_view option, const std::string& text, const CsvRecord& record, std::vector<std::size_t>& columns) {
    const std::optional<std::size_t> number = number_of_column(option, text);
    columns.push_back(number ? *number : column_called(option, text, record));
    if (std::ranges::count(columns, columns.back()) > 1)
      throw core::ConfigError(core::format("`{}` names column {} twice", option, columns.back() + 1));
    if (&columns != &left_out_ && is_left_out(columns.back()))
      throw core::ConfigError(core::format("`{}` and `leave-out` both name column {}", option, columns.back() + 1));
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

  bool is_answer(std::size_t column) const { return std::ranges::find(answers_, column) != answers_.end(); }
  bool is_left_out(std::size_t column) const { return std::ranges::find(left_out_, column) != left_out_.end(); }

  core::ConfigError ask_for_header(std::size_t line, const std::string& why) const {
    return core::ConfigError(core::format("line {} of '{}' {}: say with `header` yes or no whether it names the columns",
                                          line, options_.file, why));
  }

  bool seems_header(const CsvRecord& record) const {
    std::vector<double> numbers;
    std::size_t missing = 0;
    for (std::size_t i = 0; i < columns_; ++i) {
      if (is_left_out(i) || (is_answer(i) && options_.targets.empty())) continue;
      missing += is_missing_value(record.fields[i]);
      if (const auto number = number_in(record.fields[i])) numbers.push_back(*number);
    }
    const std::size_t values = columns_ - left_out_.size() - (options_.targets.empty() ? 1 : 0);
    if (missing == values) throw ask_for_header(record.line, "contains no values");
    if (numbers.empty()) return true;
    if (numbers.size() < values) throw ask_for_header(record.line, "contains numbers and other texts");
    if (options_.targets.empty()) {
      const auto label = number_in(record.fields[answers_.front()]);
      if (!label) return false;  // check_first_record() compares it with the other labels
      numbers.insert(numbers.begin() + static_cast<std::ptrdiff_t>(
                                           std::ranges::count_if(features_, [&](auto i) { return i < answers_.front(); })),
                     *label);
    }
    if (count_up(numbers)) throw ask_for_header(record.line, "contains numbers that count up, as names of columns may");
    return false;
  }

  /// Whether the first record, which was taken for a sample, looks like names of columns next to the others.
  void check_first_record() const {
    if (!names_.empty() || options_.header != "auto") return;
    if (const std::string* label = labels_.unlike_others())
      throw ask_for_header(line_of_columns_, core::format("has the label '{}', which occurs nowhere else", *label));
    const std::size_t columns = features_.size();
    if (options_.normalise ? first_row_stands_apart(subsets_[0].exact, columns)
                           : first_row_stands_apart(subsets_[0].values, columns))
      throw ask_for_header(line_of_columns_, "contains numbers that are far from those of all other records");
  }

  void add(const CsvRecord& record) {
    if (record.fields.size() != columns_)
      throw core::ConfigError(
          core::format("line {} of '{}' has {} fields, but line {}{} has {}{}", record.line, *path_, record.fields.size(),
                       line_of_columns_, path_ == &options_.file ? "" : core::format(" of '{}'", options_.file), columns_,
                       !names_.empty() && record.fields.size() == columns_ + 1
                           ? ": if they begin with row names, as R writes them, give these a name in the first line, too"
                           : ""));
    const bool labelled = options_.targets.empty();
    if (labelled && options_.missing_labels == "leave-out" && is_missing_value(record.fields[answers_.front()])) {
      ++without_label_;
      return;
    }
    for (std::size_t i = 0; i < columns_; ++i)
      if (record.fields[i].empty() && !is_left_out(i))
        throw refused(record, i, "is missing: fill it in, or leave the record out");
    for (std::size_t f = 0; f < features_.size(); ++f) {
      const double value = number(record, features_[f]);
      options_.normalise ? into_->exact.push_back(value) : into_->values.push_back(feature_rounding_->round(f, value));
    }
    if (labelled) return add_label(record, answers_.front());
    for (std::size_t t = 0; t < answers_.size(); ++t)
      into_->columns.targets.push_back(target_rounding_->round(t, number(record, answers_[t])));
  }

  void add_label(const CsvRecord& record, std::size_t column) {
    const std::string& text = record.fields[column];
    if (is_missing_value(text) && options_.missing_labels == "refuse")
      throw refused(
          record, column,
          core::format("is the label '{}', which usually means that it is missing: say with `missing-labels` whether it "
                       "is a class or its record is left out",
                       text));
    if (!is_missing_value(text) && number_in(text) && !std::isfinite(*number_in(text)))
      throw refused(record, column, core::format("is the label '{}', which is no class", text));
    const auto label = labels_.add(text, record.line, is_missing_value(text) ? std::nullopt : number_in(text));
    if (!label)
      throw refused(
          record, column,
          core::format("is the label '{}', but the classes of '{}' are {}", text, options_.file, some_of(labels_.texts())));
    into_->labels.push_back(*label);
  }

  /// May be infinite or NaN.
  std::optional<double> number_in(std::string_view text) const {
    if (options_.decimal == "point") return core::number_of<double>(text);
    if (text.find('.') != std::string_view::npos) return std::nullopt;
    std::string pointed(text);
    std::ranges::replace(pointed, ',', '.');
    return core::number_of<double>(pointed);
  }

  /// "length" or, without names, "3".
  std::string name_of(std::size_t column) const {
    return names_.empty() || names_[column].empty() ? core::format("{}", column + 1) : names_[column];
  }

  std::string names_of(const std::vector<std::size_t>& columns) const {
    std::vector<std::string> names;
    for (const std::size_t column : columns) names.push_back(name_of(column));
    return some_of(names);
  }

  /// Warns if the number of a column is also the name of another.
  void warn_of_number(Imported& info, std::string_view option, const std::string& text) const {
    const auto named = std::ranges::find(names_, text);
    const auto number = text.find_first_not_of("0123456789") == std::string::npos ? std::stoul(text) : 0;
    if (named != names_.end() && number > 0 && static_cast<std::size_t>(named - names_.begin()) != number - 1)
      info.warnings.push_back(core::format("`{}` {} is the column with this number, '{}', not the one called '{}'", option,
                                           text, names_[number - 1], text));
  }

  void report(Imported& info) const {
    if (!options_.label.empty()) warn_of_number(info, "label", options_.label);
    for (const std::string& target : options_.targets) warn_of_number(info, "targets", target);
    for (const std::string& column : options_.leave_out) warn_of_number(info, "leave-out", column);
    info.taken.push_back(core::format(
        "columns: {}; features {}; {} {}", names_.empty() ? "not named" : core::format("named in line {}", line_of_columns_),
        names_of(features_), options_.targets.empty() ? "label" : "targets", names_of(answers_)));
    if (!left_out_.empty()) info.taken.push_back(core::format("left out: columns {}", names_of(left_out_)));
    if (reader_.separator() == ' ')
      info.taken.push_back(
          core::format("separator: whitespace{}",
                       comments_ == 0 ? "" : core::format("; {} skipped", several(comments_, "comment line"))));
    if (without_label_ > 0)
      info.taken.push_back(core::format("left out: {} without a label", several(without_label_, "record")));
    warn_of_rounding(info, *feature_rounding_, *target_rounding_,
                     [&](std::size_t target) { return core::format("target {}", name_of(answers_[target])); });
  }

  double number(const CsvRecord& record, std::size_t column) const {
    const std::string& text = record.fields[column];
    const std::optional<double> value = number_in(text);
    if (!value) throw refused(record, column, core::format("is '{}', which is not a number{}", text, advice(text)));
    if (!std::isfinite(*value) || std::abs(*value) > std::numeric_limits<float>::max())
      throw refused(record, column, core::format("is '{}', which is not a finite number of float32", text));
    return *value;
  }

  /// On a text that would be a number with another character for decimals.
  std::string advice(std::string text) const {
    const bool comma = options_.decimal == "point";
    std::ranges::replace(text, comma ? ',' : '.', comma ? '.' : ',');
    return number_in(text)
               ? core::format(": if a {0} is the decimal separator, give `decimal` {0}", comma ? "comma" : "point")
               : "";
  }

  core::ConfigError refused(const CsvRecord& record, std::size_t column, const std::string& why) const {
    const std::string name = names_.empty() ? "" : core::format(" ('{}')", names_[column]);
    return core::ConfigError(core::format("column {}{} in line {} of '{}' {}", column + 1, name, record.line, *path_, why));
  }

  const ImportCsvOptions& options_;
  GzipFile file_;
  CsvReader reader_;
  std::size_t columns_ = 0, line_of_columns_ = 0, without_label_ = 0;
  std::vector<std::size_t> answers_;              // the columns of the label or of the targets
  std::vector<std::size_t> left_out_, features_;  // and the others, which rise
  std::vector<std::string> names_;                // of the columns, if they have any
  std::optional<RoundedColumns> feature_rounding_, target_rounding_;
  ImportedSubsets subsets_;
  TextLabels labels_;
  const std::string* path_;               // of the table that is read,
  ImportedSamples* into_ = &subsets_[0];  // and where its records go
  std::size_t comments_ = 0;
};

}  // namespace

Imported import_csv(const ImportCsvOptions& options) { return CsvImport(options).run(); }

void ImportCsvOptions::describe(core::OptionList& list) {
  list.text("from", file, "the table: a line per sample, numbers and a label or targets").path().required();
  list.text("label", label, "name or number of the column of labels (default: the last)");
  list.words("targets", targets,
             "instead of labels, real-valued targets: names or numbers of their columns, such as price,7")
      .unless(!targets.empty() && !label.empty(), "cannot be combined with `label`: a table has one or the other");
  list.words("leave-out", leave_out,
             "columns that are neither features nor labels nor targets: their names or numbers, such as id,7");
  list.choice("missing-labels", missing_labels, {"refuse", "leave-out", "class"},
              "what to do with labels such as NA, ? or null: refuse them, leave-out (their lines), or class (take them for "
              "the name of one)")
      .when(targets.empty(), "is for labels, and these are `targets`: leave it out");
  list.choice("separator", separator, {"auto", "comma", "semicolon", "tab", "space"},
              "of the columns: comma, semicolon, tab, space (any run of spaces and tabs; # begins a comment "
              "line), or auto, what the first line has");
  list.choice("decimal", decimal, {"point", "comma"}, "decimal separator of numbers: point or comma")
      .unless(decimal == "comma" && separator == "comma", "comma cannot be combined with `separator` comma");
  list.text("valid-from", valid_from, "a separate table for the validation set, with the same columns").path();
  list.text("test-from", test_from, "a separate table for the test set, with the same columns").path();
  list.choice("header", header, {"auto", "yes", "no"},
              "whether the first line names the columns: yes, no, or auto, if no feature in it is a number");
  describe_data_file(list, true);
}

Importer csv_importer() {
  return {"csv", "convert a text table (CSV, also .gz) into a data file",
          "`from` flowers.csv `label` species `name` flowers `valid` 4 `test` 4 `normalise` `out` "
          "flowers.h5",
          import_with<ImportCsvOptions>(import_csv)};
}

}  // namespace paragrad::data
