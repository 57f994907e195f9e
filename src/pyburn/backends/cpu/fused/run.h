// A section of a fused body over tensors: its program, run tile by tile.
#pragma once
#include "pyburn/backends/cpu/fused/program.h"
#include "pyburn/backends/cpu/tiles.h"

namespace pyburn::cpu {

// Do the bytes between the first and the last element of both tensors overlap?
bool overlap(const TensorHandle&, const TensorHandle&);

class FusedRun {
 public:
  // `in` and `out` are those of the section. Elements are counted in the order of `order`, a layout of their shape, or, where it is null,
  // in the order in which the first output lies; a reduction counts them row by row.
  FusedRun(const Section&, Inputs in, Outputs out, const Layout* order);
  FusedRun(const FusedRun&) = delete;

  // False: the section has no program over these tensors. Else it may be run.
  bool compile(const KernelTable&);
  void find_memory();  // before another run: the tensors may lie elsewhere by now
  bool reduces() const { return program_.reduction; }

  // All elements.
  void run() const;
  // Rows [i, i + rows) and columns [j, j + columns) of a matrix of that width: how the elements are counted. A single row may run on.
  void run_piece(int64_t width, int64_t i, int64_t rows, int64_t j, int64_t columns) const;

 private:
  // How a tensor is walked in the order of the loop.
  struct Access {
    const TensorHandle* tensor;
    char* base;
    int64_t size;  // of an element
    const Dims* strides;
    bool flat = true;      // its elements lie in the order of the loop, without holes
    bool constant = true;  // one element for all
    bool kept = false;     // its old elements are wanted when the tile is stored, which overwrites them
  };
  // What one thread keeps: where each register is at the moment.
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
  uint64_t id_;  // of this run among all
  Program program_;
  Loop loop_;
  SmallVector<Access, 8> inputs_, outputs_;
  SmallVector<const TensorHandle*, 4> stored_;  // the outputs that are not reduced
  const TensorHandle* reduced_ = nullptr;
  SmallVector<bool, 8> direct_;  // per stored output
  int64_t numel_ = 0;
};

}  // namespace pyburn::cpu
