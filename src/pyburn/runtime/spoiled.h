// Errors of operations that run after the call (in a queue, on a thread, GPU or server). Such an error is stored with the storages that the
// operation should have written: reading them raises it, operations that read them propagate it to their results, and overwriting all
// elements of a storage clears it.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

// The stored error: its own, or the loss of its device. Null if the elements are valid.
std::exception_ptr error_of(const Storage&);
void raise_if_spoiled(const Storage&);

// Whether writing a result through this layout replaces every element of the storage.
bool covers(const Storage&, DType, const Layout&);
// Whether op reads its output, rather than only replacing it.
inline bool reads_output(const OpInfo& op) { return op.kind == Kind::update || op.changes_first; }

// Called by backends before a deferred operation: the error it inherits from its inputs, and from outputs that it does not replace.
std::exception_ptr inherited_error(const OpInfo& op, Inputs in, Outputs out);
// Called afterwards: null on success. A storage that was only partly written keeps its error.
void settle(Outputs out, const std::exception_ptr& error);

// Backend::download, then raises the stored error, if any.
void read_elements(Backend&, const TensorHandle& from, const HostArray& to);

}  // namespace pyburn
