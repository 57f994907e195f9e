// Runs a section of a fused body on tensors, tile by tile.
#pragma once
#include "pyburn/backends/cpu/fused/program.h"
#include "pyburn/backends/cpu/tiles.h"

namespace pyburn::cpu {

// Do the byte ranges between the first and the last element of the two tensors overlap?
bool overlap(const TensorHandle&, const TensorHandle&);

class FusedRun {
 public:
  // `in` and `out` are the tensors of the section. Elements are processed in the order of `order`, a layout of their shape, or if it is
  // null in the memory order of the first output; a reduction processes them row by row.
  FusedRun(const Section&, Inputs in, Outputs out, const Layout* order);
  FusedRun(const FusedRun&) = delete;

  // False if the section has no program for these tensors. Otherwise run() may be called.
  bool compile(const KernelTable&);
  void find_memory();  // call before another run: the tensors may have new addresses
  bool reduces() const { return program_.reduction; }

  // Processes all elements.
  void run() const;
  // Processes rows [i, i + rows) and columns [j, j + columns) of a matrix of this width. A single row may extend beyond its end.
  void run_piece(int64_t width, int64_t i, int64_t rows, int64_t j, int64_t columns) const;

 private:
  // How a tensor is accessed in loop order.
  struct Access {
    const TensorHandle* tensor;
    char* base;
    int64_t size;  // bytes per element
    const Dims* strides;
    bool flat = true;      // its elements are in loop order, without holes
    bool constant = true;  // one value for all elements
    bool kept = false;     // its old values are read when the tile that overwrites them is stored
  };
  // Per-thread state: where each register currently points.
  struct State;

  Access access(const TensorHandle&, const Dims& strides) const;
  bool has_one_shape() const;
  void choose_direct_outputs();
  void keep_overwritten_inputs();
  State& state() const;
  template <class Piece>
  void for_each_piece(const Access&, int64_t begin, int64_t n, Piece) const;
  void load_input(State&, const Instruction&, int64_t begin, int64_t n) const;
  void run_tile_at(State&, int64_t begin, int64_t n) const;
  void run_tiles(int64_t begin, int64_t end) const;
  void run_rows() const;
  void store_result(const struct Folder&, DType compute, int64_t result, const struct Lanes&, int64_t count) const;

  const Section& section_;
  const Inputs in_;
  uint64_t id_;  // index of this run
  Program program_;
  Loop loop_;
  SmallVector<Access, 8> inputs_, outputs_;
  SmallVector<const TensorHandle*, 4> stored_;  // the outputs that are not reduced
  const TensorHandle* reduced_ = nullptr;
  SmallVector<bool, 8> direct_;  // per stored output
  int64_t numel_ = 0;
};

}  // namespace pyburn::cpu
