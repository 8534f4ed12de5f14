#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/program_parser.hpp"
#include "core/build_info.hpp"
#include "core/errors.hpp"
#include "core/names.hpp"
#include "data/numpy_array_names.hpp"
#include "python/checkpoints.hpp"
#include "python/execution.hpp"
#include "python/nanobind.hpp"
#include "python/python_codec.hpp"
#include "python/python_model.hpp"
#include "python/python_strategy.hpp"
#include "python/temporary_folder.hpp"
#include "python/user_code.hpp"
#include "python/worker_view.hpp"
#include "runs/foreign_sources.hpp"
#include "runs/run_labels.hpp"
#include "runs/run_options.hpp"
#include "system/files.hpp"
#include "system/own_program.hpp"
#include "worlds/interruption.hpp"

namespace paragrad::python {
namespace {

namespace nb = nanobind;

/// What is printed on stdout in its lifetime. The C library has one stdout per process.
class Printed {
 public:
  /// Not open_memstream, as MPICH sets the buffer of stdout.
  Printed() : file_(std::tmpfile()), before_(std::exchange(stdout, file_)) {
    if (file_ == nullptr) {
      stdout = before_;
      throw core::ConfigError("cannot make a temporary file for what is printed");
    }
  }
  ~Printed() {
    stdout = before_;
    std::fclose(file_);
  }
  Printed(const Printed&) = delete;

  std::string text() {
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    return text;
  }

 private:
  std::FILE* file_;
  std::FILE* before_;
};

/// Runs a command of the program in this process. Returns its exit code and what it printed. strategy: a
/// paragrad.given.Given, or None; model: a paragrad.model.GivenModel, or None; compressor: a
/// paragrad.compressor.GivenCompressor, or None.
std::pair<int, std::string> run(std::vector<std::string> words, nb::handle strategy, nb::handle model,
                                nb::handle compressor) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const strategies::GivenStrategy given(strategy);
  const ModelOfCall model_given(model);
  const CompressorOfCall compressor_given(compressor);
  std::map<std::string, std::string> sources;
  for (const auto& [key, object] : {std::pair("strategy_source", strategy), std::pair("model_source", model),
                                    std::pair("compressor_source", compressor)})
    if (!object.is_none()) sources[key] = nb::cast<std::string>(object.attr("record"));
  runs::set_foreign_sources(sources);
  std::pair<int, std::string> result;
  try {
    execute([&] {
      Printed printed;
      result.first = app::run_program(arguments);
      result.second = printed.text();
    });
  } catch (const worlds::Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return result;
}

/// The sentence that the program would print, as paragrad.Error.
void raise(const std::exception_ptr& thrown, void*) {
  const auto set = [](const std::string& text) {
    PyErr_SetString(nb::module_::import_("paragrad.runs").attr("Error").ptr(), cli::with_flags(text).c_str());
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const std::filesystem::filesystem_error& error) {
    set(system::describe(error));
  } catch (const nb::builtin_exception&) {
    throw;                                     // ValueError and the like, to Python as they are
  } catch (const std::runtime_error& error) {  // core::ConfigError, comm::Failure, and a deadlock of emulated workers
    set(error.what());
  } catch (const std::logic_error& error) {  // a deadlock of the workers of this process
    set(error.what());
  }
}

}  // namespace

NB_MODULE(_core, module) {
  nb::register_exception_translator(raise);
  module.def("run", &run, nb::arg("arguments"), nb::arg("strategy") = nb::none(), nb::arg("model") = nb::none(),
             nb::arg("compressor") = nb::none());
  module.attr("version") = core::build_info().version;
  module.def("set_program", &system::set_own_program, nb::arg("path"));
  module.def("default_config", &app::default_config);
  module.def("options_without_effect", [] { return runs::options_with(core::OptionMark::observes); });
  module.def("nearest_name", &core::nearest_name, nb::arg("name"), nb::arg("known"));
  module.def("suggestion", &core::suggestion, nb::arg("name"), nb::arg("known"));
  module.def("usual_array_names", &data::usual_array_names);
  module.def("in_user_code", &UserCode::is_current);
  nb::class_<TemporaryFolder>(module, "TemporaryFolder")
      .def(nb::init<std::string>(), nb::arg("path"))
      .def_prop_ro("path", &TemporaryFolder::path);
  module.def("remove_temporary_folders", &TemporaryFolder::remove_all);
  bind_checkpoints(module);
  bind_views(module);
}

}  // namespace paragrad::python
