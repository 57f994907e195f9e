#include "program.h"

#include <algorithm>

#include "pyburn/support/format.h"
#include "reference.h"

namespace pyburn::fuzz {

const char* name_of(Op op) {
  static constexpr const char* names[kOps] = {
      "fresh",
      "random",
      "view",
      "reshape",
      "expand",
      "permute",
      "slice",
      "select",
      "unsqueeze",
      "detach",
      "clone",
      "cast",
      "add",
      "mul",
      "add_number",
      "mul_number",
      "exp",
      "matmul",
      "nonzero",
      "sum",
      "copy_",
      "add_",
      "mul_",
      "add_number_",
      "mul_number_",
      "exp_",
      "fill_",
      "uniform_",
      "data_mul_",
      "data_copy_",
      "read",
      "drop",
  };
  return names[int(op)];
}

namespace {

class Generator {
 public:
  Generator(uint64_t seed, const GeneratorOptions& options) : random_(seed * 0x9e3779b97f4a7c15u + 1), options_(options) {}

  Program run() {
    wide_ = chance(30);
    const int length = 4 + below(14);
    for (int k = 1 + below(3); k > 0; --k) keep(fresh());
    for (int k = 0; k < length; ++k) keep(any());
    return program_;
  }

 private:
  int below(int n) { return int(random_() % uint64_t(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(int(list.size())));
  }

  void keep(Instruction i) {
    if (!is_write(i.op) && i.op != Op::drop) i.out = next_;
    i.no_grad = i.op > Op::random && chance(10);
    const Outcome outcome = reference_.step(i);
    if (outcome == Outcome::skipped) return;
    if (outcome == Outcome::ok && i.out >= 0) ++next_;
    program_.push_back(std::move(i));
  }

  // Recent tensors are chosen more often: chains of views, then writes to them.
  int pick() {
    const auto& live = reference_.variables();
    if (live.empty()) return -1;
    const int n = int(live.size()), back = std::min(below(n), below(n));
    return std::prev(live.end(), back + 1)->first;
  }
  const Variable& at(int name) const { return reference_.variables().at(name); }

  // Another tensor that can be broadcast to `shape` (or with it); often one on the same storage.
  int partner(int a, bool into) {
    const Extents& shape = at(a).shape;
    std::vector<int> fitting, related;
    for (const auto& [name, x] : reference_.variables()) {
      const std::optional<Extents> common = broadcast(shape, x.shape);
      if (!common || (into && *common != shape)) continue;
      fitting.push_back(name);
      if (x.base->store == at(a).base->store) related.push_back(name);
    }
    const std::vector<int>& from = chance(50) ? related : fitting;
    return from[size_t(below(int(from.size())))];
  }

  double number() { return 0.25 * double(below(17) - 8); }

  Extents shape() {
    Extents s;
    for (int rank = one_of({0, 1, 1, 2, 2, 2, 3}); rank > 0; --rank) s.push_back(one_of({1, 2, 3, 3, 4}));
    return s;
  }
  DType dtype() { return chance(12) ? DType::int64 : wide_ || chance(10) ? DType::float64 : DType::float32; }

  Instruction fresh() {
    Instruction i{.op = options_.random_numbers && chance(10) ? Op::random : Op::fresh,
        .dims = shape(),
        .number = double(below(17)),
        .dtype = dtype()};
    if (i.op == Op::random && !is_floating(i.dtype)) i.dtype = DType::float32;
    i.flag = is_floating(i.dtype) && chance(50);
    return i;
  }

  // Another shape with as many elements.
  Extents regrouped(const Extents& from) {
    int64_t n = 1;
    for (int64_t d : from) n *= d;
    if (n == 0) return from;
    Extents to;
    while (n > 1 && to.size() < 3) {
      int64_t d = one_of<int64_t>({2, 3, 4, n});
      if (n % d) d = n;
      to.push_back(d);
      n /= d;
    }
    if (n > 1) to.push_back(n);
    if (chance(20)) to.insert(to.begin() + below(int(to.size()) + 1), 1);
    return to;
  }

  Instruction view() {
    Instruction i{.op = one_of({Op::view, Op::reshape, Op::expand, Op::permute, Op::permute, Op::slice, Op::slice, Op::slice, Op::select,
                      Op::select, Op::unsqueeze}),
        .a = pick()};
    if (i.a < 0) return fresh();
    const Extents& shape = at(i.a).shape;
    const int rank = int(shape.size());
    if (rank == 0 && (i.op == Op::slice || i.op == Op::select || i.op == Op::permute)) i.op = Op::unsqueeze;
    switch (i.op) {
      case Op::view:
      case Op::reshape:
        i.dims = regrouped(shape);
        break;
      case Op::expand:
        i.dims = shape;
        for (int64_t& d : i.dims)
          if (d == 1) d = 1 + below(3);
        if (rank < 3 && chance(40)) i.dims.insert(i.dims.begin(), 1 + below(3));
        break;
      case Op::permute:
        for (int d = 0; d < rank; ++d) i.dims.push_back(d);
        std::shuffle(i.dims.begin(), i.dims.end(), random_);
        break;
      case Op::slice: {
        const int d = below(rank), start = below(int(shape[size_t(d)]) + 1), end = start + below(int(shape[size_t(d)]) - start + 1);
        i.dims = {d, chance(60) ? 0 : start, chance(60) ? shape[size_t(d)] : end, 1 + below(2)};
        if (i.dims[1] > i.dims[2]) std::swap(i.dims[1], i.dims[2]);
        break;
      }
      case Op::select: {
        const int d = below(rank);
        if (shape[size_t(d)] == 0) return fresh();
        i.dims = {d, below(int(shape[size_t(d)]))};
        break;
      }
      default:
        i.dims = {below(rank + 1)};
    }
    return i;
  }

  Instruction operation() {
    Instruction i{.op = one_of({Op::detach, Op::clone, Op::cast, Op::add, Op::add, Op::mul, Op::mul, Op::mul, Op::add_number,
                      Op::mul_number, Op::exp, Op::exp, Op::matmul, Op::matmul, Op::nonzero, Op::sum, Op::sum}),
        .a = pick(),
        .number = number()};
    if (i.a < 0) return fresh();
    switch (i.op) {
      case Op::cast:
        i.dtype = dtype();
        break;
      case Op::add:
        i.number = one_of({1.0, 1.0, 0.5, -1.0, 2.0});
        if (!is_floating(at(i.a).dtype())) i.number = 1;
        [[fallthrough]];
      case Op::mul:
        i.b = partner(i.a, false);
        break;
      case Op::matmul:
        i.b = pick();
        break;
      case Op::sum:
        for (int d = 0; d < at(i.a).rank(); ++d)
          if (chance(40)) i.dims.push_back(d);
        i.flag = chance(40);
        break;
      default:
        break;
    }
    return i;
  }

  Instruction write() {
    Instruction i{.op = one_of({Op::copy_, Op::copy_, Op::copy_, Op::add_, Op::add_, Op::mul_, Op::mul_, Op::add_number_, Op::mul_number_,
                      Op::exp_, Op::fill_, Op::uniform_, Op::data_mul_, Op::data_copy_}),
        .a = pick(),
        .number = number()};
    if (i.a < 0) return fresh();
    if (i.op == Op::uniform_ && !options_.random_numbers) i.op = Op::fill_;
    if (i.op == Op::uniform_) i.number = below(17);
    if (!is_floating(at(i.a).dtype()) && chance(80)) i.number = double(below(5) - 2);
    if (i.op == Op::add_) i.number = 1;
    if (i.op == Op::copy_ || i.op == Op::add_ || i.op == Op::mul_ || i.op == Op::data_copy_) i.b = partner(i.a, true);
    return i;
  }

  Instruction any() {
    const int kind = below(100);
    if (kind < 8) return fresh();
    if (kind < 38) return view();
    if (kind < 66) return operation();
    if (kind < 94) return write();
    Instruction i{.op = kind < 97 ? Op::read : Op::drop, .a = pick()};
    return i.a < 0 ? fresh() : i;
  }

  std::mt19937_64 random_;
  const GeneratorOptions& options_;
  Reference reference_;
  Program program_;
  int next_ = 0;
  bool wide_ = false;
};

}  // namespace

Program generate(uint64_t seed, const GeneratorOptions& options) { return Generator(seed, options).run(); }

std::string to_json(const Instruction& i) {
  std::string dims;
  for (int64_t d : i.dims) dims += (dims.empty() ? "" : ", ") + to_text(d);
  return format(R"({"op": "{}", "out": {}, "a": {}, "b": {}, "dims": [{}], "number": {}, "dtype": "{}", "flag": {}, "no_grad": {}})",
      name_of(i.op), i.out, i.a, i.b, dims, i.number, name_of(i.dtype), i.flag ? "true" : "false", i.no_grad ? "true" : "false");
}

std::string to_json(const Program& program) {
  std::string text;
  for (const Instruction& i : program) text += (text.empty() ? "[" : ",\n ") + to_json(i);
  return text + "]";
}

}  // namespace pyburn::fuzz
