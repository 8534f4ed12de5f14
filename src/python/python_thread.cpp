#include "python/python_thread.hpp"

#include <Python.h>

#include <set>
#include <utility>

namespace paragrad::python {
namespace {

thread_local bool is_of_a_worker = false;

std::set<unsigned long> running;  // threads that run Python code; guarded by the interpreter's lock

/// In its lifetime this thread runs Python code.
class Running {
 public:
  Running() { running.insert(id_); }
  ~Running() {
    running.erase(id_);
    PyThreadState_SetAsyncExc(id_, nullptr);  // an interruption that came too late
  }
  Running(const Running&) = delete;

 private:
  unsigned long id_ = PyThread_get_thread_ident();
};

}  // namespace

bool PythonThread::is_any_current() { return is_of_a_worker; }

void PythonThread::interrupt_all() {
  for (const unsigned long thread : running) PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
}

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
  is_of_a_worker = true;
  const PyGILState_STATE lock = PyGILState_Ensure();
  PyThreadState* const state = PyEval_SaveThread();
  while (true) {
    wait_for(Turn::thread);
    if (ends_) break;
    PyEval_RestoreThread(state);
    {
      const Running lock_is_held;
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
