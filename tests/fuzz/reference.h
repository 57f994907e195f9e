// What programs mean, written as naively as possible: storages are vectors of doubles, each element carries its own
// node of a scalar tape, and a write replaces nodes one by one. Shares no code with the door or with autodiff, so that an
// error there cannot hide.
#pragma once
#include <map>
#include <memory>
#include <optional>

#include "program.h"

namespace pyburn::fuzz {

enum class Outcome : uint8_t { ok, skipped, gradient_error, dtype_error, shape_error, other_error };
const char* name_of(Outcome);

using Extents = std::vector<int64_t>;

struct Store {
  std::vector<double> values;
  DType dtype;
  uint32_t version = 0;
  bool inexact = false;  // rounding may differ between devices: no truncation, no test for zero
};

// What all views of a tensor share: values and history. A detached tensor has the same store and a history of its own.
struct Base {
  std::shared_ptr<Store> store;
  std::vector<int> nodes;  // per element of the store; -1: a constant
  bool wants = false, leaf = false;
  bool overlaps = false;  // elements share memory: detached from an expand
  int operation = -1;     // the last recorded one that made or wrote it
  int generation = 0;     // grows with every recorded write
};

struct Variable {
  std::shared_ptr<Base> base;
  Extents shape, strides;
  int64_t offset = 0;
  bool view = false, without_grad = false;
  int frozen_at = -1;  // a view without history sees the base's only once that has changed

  DType dtype() const { return base->store->dtype; }
  int rank() const { return int(shape.size()); }
  int64_t numel() const;
  std::vector<int64_t> places() const;  // of the elements in the store, in row-major order
  std::vector<double> values() const;
  bool wants() const { return frozen_at == base->generation ? false : base->wants; }
};

class Reference {
 public:
  // `skipped`: an argument is missing, or the result would leave the range in which devices must agree.
  Outcome step(const Instruction&);
  // From every live tensor that wants a gradient, in order of names, with root_gradient() for each.
  Outcome backward();

  const std::map<int, Variable>& variables() const { return variables_; }
  const std::map<int, std::vector<double>>& readings() const { return readings_; }
  std::vector<double> gradient(const Variable& leaf) const;
  bool uses_float32() const { return uses_float32_; }

 private:
  // A derivative with respect to `parent`: factor, times the value that `store` has at `place` when backward runs.
  struct Partial {
    int parent;
    double factor;
    std::shared_ptr<Store> store;
    int64_t place;
  };
  struct Saved {
    std::shared_ptr<Store> store;
    uint32_t version;
  };
  struct Recorded {
    std::vector<int> parents;
    std::vector<Saved> saved;
  };
  struct Operand;
  struct Result;

  Outcome create(const Instruction&);
  Outcome make_view(const Instruction&, const Variable& x);
  Outcome compute(const Instruction&);
  Outcome write(const Instruction&, const Variable& target);
  Outcome read(const Instruction&, const Variable& x);

  Operand operand(const Variable& x, const Extents& shape, DType common, const Store* target, bool grad) const;
  Result unary(const Instruction&, const Variable& x, const Store* target);
  Result binary(const Instruction&, const Variable& x, const Variable* y, const Store* target);
  Result sum(const Instruction&, const Variable& x);
  Result matmul(const Variable& x, const Variable& y, bool grad);
  int node(std::vector<Partial> partials);
  bool acceptable(const Result&) const;
  Outcome finish(const Instruction&, Result, Extents shape, Extents strides, DType dtype);
  Outcome store_into(const Variable& target, Result, bool grad, bool tracked);

  std::map<int, Variable> variables_;
  std::map<int, std::vector<double>> readings_;
  std::vector<std::vector<Partial>> tape_;
  std::vector<Recorded> operations_;
  std::vector<double> adjoint_;
  bool uses_float32_ = false;
};

std::vector<double> root_gradient(int64_t numel);
DType promoted(const Variable& x, const Variable* y, std::optional<DType> number);
// The common shape, or nothing when they do not fit.
std::optional<Extents> broadcast(const Extents& a, const Extents& b);
double rounded(double v, DType);

}  // namespace pyburn::fuzz
