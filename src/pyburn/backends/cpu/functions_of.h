// Functions compiled for each instruction set and several element types. A file lists them in a struct template, creates one struct per
// type and instruction set, and selects by type at the call.
#pragma once

namespace pyburn::cpu {

// Functions<T> for each T.
template <template <class> class Functions, class... T>
struct FunctionsOf : Functions<T>... {};

}  // namespace pyburn::cpu

// Defines functions<T>() from make_functions(), which returns a FunctionsOf, for the best instruction set of this machine. Use inside
// HWY_ONCE.
#define PYBURN_FUNCTIONS(Functions)                                  \
  HWY_EXPORT(make_functions);                                        \
  template <class T>                                                 \
  const Functions<T>& functions() {                                  \
    static const auto made = HWY_DYNAMIC_DISPATCH(make_functions)(); \
    return made;                                                     \
  }
