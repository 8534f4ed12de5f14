#include "python/call_errors.hpp"

#include "core/format.hpp"

namespace paragrad::python {

namespace nb = nanobind;

std::string report(const nb::python_error& error) {
  const nb::object traceback = nb::module_::import_("traceback");
  traceback.attr("print_exception")(error.value());
  const nb::object frames = traceback.attr("extract_tb")(error.value().attr("__traceback__"));
  std::string text = core::format("{}: {}", nb::cast<std::string>(error.type().attr("__name__")),
                                  nb::cast<std::string>(nb::str(error.value())));
  if (nb::len(frames) == 0) return text;
  const nb::object last = frames[nb::int_(-1)];
  return text +
         core::format(" ({}, line {})", nb::cast<std::string>(last.attr("filename")), nb::cast<int>(last.attr("lineno")));
}

bool is_sentence(const nb::python_error& error) {
  return error.matches(nb::module_::import_("paragrad.runs").attr("Error"));
}

std::string message_of(const nb::python_error& error) { return nb::cast<std::string>(nb::str(error.value())); }

}  // namespace paragrad::python
