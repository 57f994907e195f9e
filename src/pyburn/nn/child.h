// How layers made of layers reach their parts: by name, since users may replace them.
#pragma once
#include "pyburn/nn/module.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

inline Module& child(Module& m, std::string_view name) {
  const Entry* e = m.find(name);
  require<ValueError>(e && e->module, "{} has lost its module '{}'", m.type_name(), name);
  return *e->module;
}

}  // namespace pyburn::nn
