// numpy's files: .npy holds one array, .npz is a zip archive of them. Object arrays are pickles and refused.
#pragma once
#include "pyburn/io/snapshot.h"

namespace pyburn::io {

class ByteSink;

// Reads the array of a .npy file of version 1 to 3, in any byte order, in row-major or Fortran order. numpy has no bfloat16: it is stored
// as two bytes of no type ("V2"), as other libraries do.
Snapshot open_npy(SharedBytes file, std::string name, bool mmap = false);
Snapshots open_npz(SharedBytes file, const OpenOptions& options = {});

void write_npy(const Snapshot& tensor, ByteSink& sink);
void write_npz(const Snapshots& tensors, ByteSink& sink);

}  // namespace pyburn::io
