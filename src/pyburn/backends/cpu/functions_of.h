// Functions that are compiled for each instruction set and for several element types: a file lists them in a struct template, makes one
// struct per type for each instruction set, and picks by type where it calls.
#pragma once

namespace pyburn::cpu {

// Functions<T> of each T.
template <template <class> class Functions, class... T>
struct FunctionsOf : Functions<T>... {};

}  // namespace pyburn::cpu

// functions<T>(): Functions<T> as make_functions(), which gives a FunctionsOf, makes it for the best instruction set of this machine.
// Inside of HWY_ONCE.
#define PYBURN_FUNCTIONS(Functions)                                  \
  HWY_EXPORT(make_functions);                                        \
  template <class T>                                                 \
  const Functions<T>& functions() {                                  \
    static const auto made = HWY_DYNAMIC_DISPATCH(make_functions)(); \
    return made;                                                     \
  }
