// How layers access their parts: by name, checking that users have not replaced or removed them.
#pragma once
#include "pyburn/nn/module.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

inline Module& child(Module& m, std::string_view name) {
  const Entry* e = m.find(name);
  require<ValueError>(e && e->module, "{} has no module '{}' any more", m.type_name(), name);
  return *e->module;
}

// As above, requiring a layer of the class `kind`.
template <class L>
L& child_as(Module& m, std::string_view name, const char* kind) {
  Module& found = child(m, name);
  L* layer = dynamic_cast<L*>(&found);
  require<ValueError>(layer, "expected '{}' of {} to be a {}: got {}", name, m.type_name(), kind, found.type_name());
  return *layer;
}

// A required parameter or buffer.
inline TensorHandle needed(const Module& m, std::string_view name) {
  TensorHandle t = m.tensor(name);
  require<ValueError>(t.defined(), "{} has no parameter '{}' any more", m.type_name(), name);
  return t;
}

// A number of features, layers or similar: positive, and small enough to be multiplied.
inline void check_size(int64_t n, const char* name) {
  require<ValueError>(n > 0, "{} must be greater than zero: got {}", name, n);
  require<ValueError>(n < int64_t(1) << 32, "{} is too large: got {}", name, n);
}

}  // namespace pyburn::nn
