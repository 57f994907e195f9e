// Python.h and small helpers used by all binding files.
#pragma once
#include <Python.h>
#include <structmember.h>

#include <atomic>
#include <utility>

namespace pyburn::python {

// An owned reference.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : p_(owned) {}
  static Object borrowed(PyObject* p) {
    Py_XINCREF(p);
    return Object(p);
  }
  Object(const Object& o) : p_(o.p_) { Py_XINCREF(p_); }
  Object(Object&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Object& operator=(Object o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Object() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// At interpreter shutdown, a thread that requests the GIL is terminated by an unwinding that C++ destructors do not survive. So threads
// announce the request, and block forever once shutdown has begun. See errors.cpp.
void about_to_take_gil() noexcept;
void has_taken_gil() noexcept;
void stop_threads_at_exit();  // called once, by the module

// Decrements now if this thread holds the GIL, else soon, on a thread that does. Safe at exit.
void release_later(PyObject* p) noexcept;
void drain_released() noexcept;

inline std::atomic<int> threads_without_gil{0};  // inside a GilRelease; does not change while this thread holds the GIL

class GilRelease {
 public:
  explicit GilRelease(bool wanted = true) : state_(wanted ? release() : nullptr) {}
  ~GilRelease() {
    if (!state_) return;
    about_to_take_gil();
    PyEval_RestoreThread(state_);
    has_taken_gil();
    threads_without_gil.fetch_sub(1);
    drain_released();
  }
  GilRelease(const GilRelease&) = delete;

 private:
  static PyThreadState* release() {
    threads_without_gil.fetch_add(1);
    return PyEval_SaveThread();
  }
  PyThreadState* state_;
};

class GilAcquire {
 public:
  GilAcquire() : state_(take()) {}
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire&) = delete;

 private:
  static PyGILState_STATE take() {
    about_to_take_gil();
    const PyGILState_STATE state = PyGILState_Ensure();
    has_taken_gil();
    return state;
  }
  PyGILState_STATE state_;
};

// A Python exception is set: transports it through C++.
struct PythonError {};
inline Object checked(PyObject* p) {
  if (!p) throw PythonError();
  return Object(p);
}

// Converts the current exception to a Python one; for use in catch (...).
void set_python_error() noexcept;

}  // namespace pyburn::python
