#include "python/user_code.hpp"

#include <set>

namespace paragrad::python {

namespace nb = nanobind;

namespace {

std::set<unsigned long> running;  // threads; guarded by the interpreter's lock

}  // namespace

UserCode::UserCode() : thread_(PyThread_get_thread_ident()), is_first_(running.insert(thread_).second) {}

UserCode::~UserCode() {
  if (!is_first_) return;
  running.erase(thread_);
  PyThreadState_SetAsyncExc(thread_, nullptr);  // an interruption that came too late
}

bool UserCode::is_current() { return running.contains(PyThread_get_thread_ident()); }

void UserCode::interrupt_all() {
  for (const unsigned long thread : running) PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
}

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
