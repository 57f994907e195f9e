#include "pyburn/runtime/spoiled.h"

#include <algorithm>

namespace pyburn {

std::exception_ptr error_of(const Storage& s) {
  if (s.owner->lost.is_set()) return s.owner->lost.get();
  return s.error.get();
}

void raise_if_spoiled(const Storage& s) {
  if (const std::exception_ptr error = error_of(s)) std::rethrow_exception(error);
}

bool covers(const Storage& s, DType dtype, const Layout& layout) {
  return layout.offset == 0 && !layout.has_overlap() && bytes_of(dtype, layout.numel()) == s.bytes;
}

std::exception_ptr inherited_error(const OpInfo& op, Inputs in, Outputs out) {
  for (const TensorHandle* t : in)
    if (t->defined())
      if (std::exception_ptr error = error_of(*t->storage())) return error;
  for (const TensorHandle& t : out) {
    if (!t.defined() || !t.storage()) continue;
    if (covers(*t.storage(), t.dtype(), t.layout()) && !reads_output(op) && !t.storage()->owner->lost.is_set()) continue;
    if (std::exception_ptr error = error_of(*t.storage())) return error;
  }
  return nullptr;
}

void settle(Outputs out, const std::exception_ptr& error) {
  for (const TensorHandle& t : out)
    if (t.defined() && t.storage() && (error || covers(*t.storage(), t.dtype(), t.layout()))) t.storage()->error.set(error);
}

void read_elements(Backend& backend, const TensorHandle& from, const HostArray& to) {
  backend.download(from, to);
  raise_if_spoiled(*from.storage());
}

}  // namespace pyburn
