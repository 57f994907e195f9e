// Random choices, and values that break code which trusts them. The same seed gives the same choices.
#pragma once
#include <random>

#include "pyburn/ir/wire.h"
#include "pyburn/tensor/dtype.h"

namespace pyburn::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u) {}

  uint64_t bits() { return engine_(); }
  uint64_t below(uint64_t n) { return n == 0 ? 0 : engine_() % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  bool coin() { return one_in(2); }
  std::byte byte() { return std::byte(below(256)); }
  DType dtype() { return DType(below(all_dtypes().size())); }
  int64_t integer();  // three of four fit a small tensor; the others overflow
  uint64_t unsigned_integer();
  double real();
  template <class List>
  auto& any_of(List& list) {
    return *(std::begin(list) + std::ptrdiff_t(below(std::size(list))));
  }

 private:
  std::mt19937_64 engine_;
};

// Changes bytes in place: bits, cuts, repetitions, pieces of other inputs, lengths and decimal digits.
void mutate_bytes(Bytes& bytes, Random& random, const std::vector<Bytes>& others);

// Gives the attributes of an operation hostile values. A graph in an attribute becomes this one, or none.
class HostileFields final : public FieldEditor {
 public:
  explicit HostileFields(Random& random, Ref<Graph> graph = {}) : random_(random), graph_(std::move(graph)) {}

  void field(std::string_view, bool& v) override { v ^= random_.coin(); }
  void field(std::string_view, int64_t& v) override { v = random_.coin() ? random_.integer() : v; }
  void field(std::string_view, double& v) override { v = random_.coin() ? random_.real() : v; }
  void field(std::string_view, std::string& v) override;
  void field(std::string_view, DType& v) override { v = random_.coin() ? random_.dtype() : v; }
  void field(std::string_view, Dims& v) override;
  void field(std::string_view, Scalar& v) override;
  void field(std::string_view name, std::optional<Scalar>& v) override;
  void field(std::string_view, Ref<Graph>& v) override { v = random_.coin() ? graph_ : Ref<Graph>(); }
  void field(std::string_view, Numbers& v) override;
  bool optional(std::string_view, bool given) override { return given ^ random_.coin(); }

 private:
  Random& random_;
  Ref<Graph> graph_;
};

// An operation on values described by `metas`: any row of the table with hostile attributes.
struct MadeOperation {
  Operation op;
  std::vector<int64_t> in;    // positions in `metas`
  std::vector<Meta> results;  // what inference gives
  bool valid = false;         // did it pass inference?
};
MadeOperation make_operation(Random& random, std::span<const Meta> metas, Ref<Graph> graph = {});

}  // namespace pyburn::fuzz
