#include "python/python_thread.hpp"

#include <Python.h>

#include <utility>

#include "python/user_code.hpp"

namespace paragrad::python {

PythonThread::PythonThread() : thread_([this] { work(); }) {}

PythonThread::~PythonThread() {
  ends_ = true;
  pass_to(Turn::thread);
  thread_.join();
}

void PythonThread::pass_to(Turn other) {
  {
    const std::lock_guard lock(mutex_);
    turn_ = other;
  }
  changed_.notify_all();
}

void PythonThread::wait_for(Turn mine) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == mine; });
}

void PythonThread::run(const std::function<void()>& code) {
  code_ = &code;
  while (code_ != nullptr) {
    pass_to(Turn::thread);
    wait_for(Turn::worker);
    if (action_ != nullptr) (*std::exchange(action_, nullptr))();
  }
}

void PythonThread::outside(const std::function<void()>& action) {
  action_ = &action;
  PyThreadState* const state = PyEval_SaveThread();
  pass_to(Turn::worker);
  wait_for(Turn::thread);
  PyEval_RestoreThread(state);
}

void PythonThread::work() {
  const PyGILState_STATE lock = PyGILState_Ensure();
  PyThreadState* const state = PyEval_SaveThread();
  while (true) {
    wait_for(Turn::thread);
    if (ends_) break;
    PyEval_RestoreThread(state);
    {
      const UserCode lock_is_held;
      (*code_)();
    }
    PyEval_SaveThread();
    code_ = nullptr;
    pass_to(Turn::worker);
  }
  PyEval_RestoreThread(state);
  PyGILState_Release(lock);
}

}  // namespace paragrad::python
