// How layers reach their parts: by name, and knowing that users may have replaced or removed them.
#pragma once
#include "pyburn/nn/module.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

inline Module& child(Module& m, std::string_view name) {
  const Entry* e = m.find(name);
  require<ValueError>(e && e->module, "{} has lost its module '{}'", m.type_name(), name);
  return *e->module;
}

// The same as a layer of the class that is called `kind`.
template <class L>
L& child_as(Module& m, std::string_view name, const char* kind) {
  Module& found = child(m, name);
  L* layer = dynamic_cast<L*>(&found);
  require<ValueError>(layer, "expected '{}' of {} to be a {}: got {}", name, m.type_name(), kind, found.type_name());
  return *layer;
}

// A parameter or buffer that the layer cannot do without.
inline TensorHandle needed(const Module& m, std::string_view name) {
  TensorHandle t = m.tensor(name);
  require<ValueError>(t.defined(), "{} has lost its parameter '{}'", m.type_name(), name);
  return t;
}

// A number of features, layers or the like: positive, and small enough to be multiplied.
inline void check_size(int64_t n, const char* name) {
  require<ValueError>(n > 0, "{} must be greater than zero: got {}", name, n);
  require<ValueError>(n < int64_t(1) << 32, "{} is too large: got {}", name, n);
}

}  // namespace pyburn::nn
