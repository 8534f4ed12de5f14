#include "python/python_strategy.hpp"

namespace paragrad::strategies {

namespace nb = nanobind;

nb::object make_python_object(const PythonOptions& options) {
  const auto colon = options.python_class.find(':');
  if (colon == std::string::npos)
    throw core::ConfigError(
        core::format("the strategy's class '{}' must be MODULE:CLASS: give `python-class`", options.python_class));
  nb::object type = nb::module_::import_(options.python_class.substr(0, colon).c_str());
  type = type.attr(options.python_class.substr(colon + 1).c_str());
  return type(**nb::cast<nb::dict>(nb::module_::import_("json").attr("loads")(options.arguments)));
}

std::string describe(const nb::python_error& error) {
  const nb::object frames = nb::module_::import_("traceback").attr("extract_tb")(error.traceback());
  std::string text = core::format("{}: {}", nb::cast<std::string>(error.type().attr("__name__")),
                                  nb::cast<std::string>(nb::str(error.value())));
  if (nb::len(frames) == 0) return text;
  const nb::object last = frames[nb::int_(-1)];
  return text +
         core::format(" ({}, line {})", nb::cast<std::string>(last.attr("filename")), nb::cast<int>(last.attr("lineno")));
}

}  // namespace paragrad::strategies
