#pragma once

#include <memory>
#include <utility>

#include "python/nanobind.hpp"

namespace paragrad::python {

/// In its lifetime `current()` is what Python has given with a call, an Object made of it, which no option and no file can
/// name. given: may be None, and then there is none. One call at a time; needs the interpreter's lock.
template <class Object>
class OfCall {
 public:
  explicit OfCall(nanobind::handle given) : before_(held()) {
    held() = given.is_none() ? nullptr : std::make_shared<Object>(nanobind::borrow(given));
  }
  ~OfCall() { held() = std::move(before_); }
  OfCall(const OfCall&) = delete;

  static std::shared_ptr<Object> current() { return held(); }

 private:
  static std::shared_ptr<Object>& held() {
    static std::shared_ptr<Object> object;
    return object;
  }

  std::shared_ptr<Object> before_;
};

}  // namespace paragrad::python
