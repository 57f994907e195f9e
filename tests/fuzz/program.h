// Random programs of creations, views, writes and operations, as plain data: the same program runs on every device, in
// the reference interpreter and, through its JSON form, in Python and PyTorch.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "pyburn/tensor/dtype.h"

namespace pyburn::fuzz {

enum class Op : uint8_t {
  fresh,
  random,  // dims: shape
  view,
  reshape,
  expand,
  permute,  // dims: the argument
  slice,
  select,
  unsqueeze,  // dims: (dim, start, end, step), (dim, index), (dim)
  detach,
  clone,
  cast,
  add,
  mul,
  add_number,
  mul_number,
  exp,
  matmul,
  nonzero,
  sum,  // dims: the axes
  copy_,
  add_,
  mul_,
  add_number_,
  mul_number_,
  exp_,
  fill_,
  uniform_,  // writes into `a`
  data_mul_,
  data_copy_,  // through a.data
  read,        // keeps the values of now
  drop,        // forgets the tensor
};
inline constexpr int kOps = int(Op::drop) + 1;
const char* name_of(Op);
inline bool is_write(Op op) { return op >= Op::copy_ && op <= Op::data_copy_; }

struct Instruction {
  Op op = Op::fresh;
  int out = -1, a = -1, b = -1;  // names of tensors; -1: none
  std::vector<int64_t> dims;
  double number = 0;  // operand, alpha, first value, or seed
  DType dtype = DType::float32;
  bool flag = false;  // requires_grad of fresh, keepdim of sum
  bool no_grad = false;
};
using Program = std::vector<Instruction>;

struct GeneratorOptions {
  bool random_numbers = true;  // PyTorch draws others
};
// The instructions that the reference interpreter can run; errors that users may meet are among them.
Program generate(uint64_t seed, const GeneratorOptions& options = {});

std::string to_json(const Instruction&);
std::string to_json(const Program&);

}  // namespace pyburn::fuzz
