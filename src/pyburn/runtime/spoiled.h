// Errors of operations that run later than they are called (a queue, a thread, a GPU, a server). Such an error belongs to the storages that
// the operation should have written: only who reads them gets it, operations that read them pass it on to their results, and writing all
// elements of a storage clears it.
#pragma once
#include "pyburn/runtime/backend.h"

namespace pyburn {

// What spoiled the storage: its own error, or the loss of its device. Null when its elements are good.
std::exception_ptr error_of(const Storage&);
void raise_if_spoiled(const Storage&);

// Whether a result written through this layout replaces every element of the storage.
bool covers(const Storage&, DType, const Layout&);
// Whether op computes from what its output holds, rather than replacing it.
inline bool reads_output(const OpInfo& op) { return op.kind == Kind::update || op.changes_first; }

// For backends, before they run an operation late: the error it inherits from what it reads, its outputs included unless it replaces them.
std::exception_ptr inherited_error(const OpInfo& op, Inputs in, Outputs out);
// After it ran: null where it succeeded. A storage that was only partly written keeps the error it had.
void settle(Outputs out, const std::exception_ptr& error);

// Backend::download, then the error that spoiled the elements, if any.
void read_elements(Backend&, const TensorHandle& from, const HostArray& to);

}  // namespace pyburn
