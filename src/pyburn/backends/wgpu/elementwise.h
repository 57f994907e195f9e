// Element-wise operations as WGSL expressions. One expression serves the kernel of the operation and the kernels of fused runs.
#pragma once
#include "pyburn/backends/wgpu/kernel_table.h"

namespace pyburn::wgpu {

// The expression is written in terms of its arguments a, b, c, ...: elements of inputs, and numbers.
struct Element {
  struct Argument {
    int input = -1;  // -1: the number
    Word type = Word::f32;
    Scalar number;
  };
  std::string code;
  Word result = Word::f32;
  SmallVector<Argument, 4> arguments;

  Element& from_input(int input, Word type) { return arguments.push_back({input, type, {}}), *this; }
  Element& from_number(const Scalar& number, Word type) { return arguments.push_back({-1, type, number}), *this; }
};

// Inputs have the dtypes `in`; the result has `out`. Empty code: not on the GPU.
using ElementOf = Element (*)(OpRef op, std::span<const DType> in, DType out);

// A row whose expression depends on the type of the elements alone. Absent types are not supported.
struct Codes {
  const char *f32 = nullptr, *i32 = nullptr, *u32 = nullptr, *boolean = nullptr, *i64 = nullptr, *u64 = nullptr;
  const char* of(Word w) const {
    const char* all[] = {f32, i32, u32, boolean, i64, u64};
    return all[int(w)];
  }
};

// The operands of a row whose attributes are Binary, as a and b.
Element binary_operands(OpRef op, std::span<const DType> in, DType out, const char* code);

class Elements {
 public:
  static Elements& table();
  void add_unary(const char* op, const Codes&);
  void add_binary(const char* op, const Codes&);  // attributes are Binary
  void add(const char* op, ElementOf);
  // Empty code if there is none.
  Element find(OpRef op, std::span<const DType> in, DType out) const;
  template <class Fn>
  void each(Fn fn) const {
    for (const auto& [op, row] : rows_) fn(*op);
  }
  // WGSL of a function `name` that computes the element.
  static std::string function(const Element&, const std::string& name);

 private:
  struct Row {
    Codes codes;
    bool binary = false;
    ElementOf write = nullptr;
  };
  std::unordered_map<const OpInfo*, Row> rows_;
};

// Dimensions in the order in which an output lies in memory, so that it is walked through in sequence.
class Order {
 public:
  explicit Order(const Layout& out);
  TensorHandle operator()(const TensorHandle&) const;

 private:
  SmallVector<int, 8> axes_;
  bool plain_;
};

void run_elementwise(const Call&);
bool accepts_elementwise(OpRef, Inputs in, Outputs out);

// Families of rows.
void add_unary_elements(Elements&);
void add_binary_elements(Elements&);
void add_cast_element(Elements&);

}  // namespace pyburn::wgpu
