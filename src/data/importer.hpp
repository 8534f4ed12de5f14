#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/import_report.hpp"

namespace paragrad::data {

/// An import with its options, which describe themselves and can be set before it runs.
class Import {
 public:
  virtual ~Import() = default;
  virtual void describe(core::OptionList& list) = 0;
  virtual const std::string& out() const = 0;  ///< the data file
  virtual Imported run() const = 0;            ///< Throws ConfigError
};

/// Files of a kind that can be converted into a data file.
struct Importer {
  std::string name;     ///< "csv", of `data import-csv`
  std::string summary;  ///< what it does: "convert … into a data file"
  std::string example;  ///< options with values: "`from` table.csv `name` flowers"
  std::function<std::unique_ptr<Import>()> make;
};

/// Makes imports with these options. Options: a struct with `describe` and the data file `out`.
template <class Options>
std::function<std::unique_ptr<Import>()> import_with(std::function<Imported(const Options&)> run) {
  class WithOptions : public Import {
   public:
    explicit WithOptions(std::function<Imported(const Options&)> run) : run_(std::move(run)) {}
    void describe(core::OptionList& list) override { options_.describe(list); }
    const std::string& out() const override { return options_.out; }
    Imported run() const override { return run_(options_); }

   private:
    Options options_;
    std::function<Imported(const Options&)> run_;
  };
  return [run = std::move(run)] { return std::make_unique<WithOptions>(run); };
}

#define IMPORTER(name) Importer name##_importer();
#include "data/importers.def"
#undef IMPORTER

/// Those of this library; speech/importers.hpp has others.
const std::vector<Importer>& importers();

}  // namespace paragrad::data
