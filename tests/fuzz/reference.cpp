#include "reference.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "pyburn/runtime/generator.h"
#include "pyburn/tensor/layout.h"

namespace pyburn::fuzz {

const char* name_of(Outcome o) {
  static constexpr const char* names[] = {"ok", "skipped", "gradient_error", "dtype_error", "shape_error", "other_error"};
  return names[int(o)];
}

namespace {

constexpr double kLargest = 64, kLargestExponent = 3;  // programs stay where float32 still has digits to compare
constexpr int64_t kMostElements = 64;

int64_t product(const Extents& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// offset + sum(index * stride) for every index of shape, in row-major order.
std::vector<int64_t> walk(const Extents& shape, const Extents& strides, int64_t offset) {
  std::vector<int64_t> places{offset};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t place : places)
      for (int64_t i = 0; i < shape[d]; ++i) next.push_back(place + i * strides[d]);
    places = std::move(next);
  }
  return places;
}

Extents plain_strides(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (int i = int(shape.size()) - 2; i >= 0; --i) strides[size_t(i)] = strides[size_t(i) + 1] * std::max<int64_t>(shape[size_t(i) + 1], 1);
  return strides;
}

bool repeats(std::vector<int64_t> places) {
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

// Strides of `shape` on the elements of x, when they lie so regularly that strides exist: read off from the neighbours
// of the first element, then tried on all.
std::optional<Extents> strides_on(const Variable& x, const Extents& shape) {
  const std::vector<int64_t> places = x.places();
  const Extents steps = plain_strides(shape);
  Extents strides = steps;
  for (size_t d = 0; d < shape.size() && !places.empty(); ++d)
    if (shape[d] > 1) strides[d] = places[size_t(steps[d])] - places[0];
  if (!places.empty() && walk(shape, strides, x.offset) != places) return {};
  return strides;
}

// Elementwise results keep the order of axes of their inputs, stretched to the result's shape.
Extents strides_like(std::initializer_list<const Variable*> inputs, const Extents& shape) {
  std::vector<Layout> stretched;
  for (const Variable* x : inputs) {
    if (!x) continue;
    const size_t extra = shape.size() - x->shape.size();
    Layout l;
    for (size_t i = 0; i < shape.size(); ++i) {
      l.shape.push_back(shape[i]);
      l.strides.push_back(i < extra || (x->shape[i - extra] == 1 && shape[i] != 1) ? 0 : x->strides[i - extra]);
    }
    stretched.push_back(std::move(l));
  }
  std::vector<const Layout*> layouts;
  bool plain = true;
  for (const Layout& l : stretched) {
    layouts.push_back(&l);
    plain &= l.is_contiguous();
  }
  if (plain) return plain_strides(shape);
  const Dims s = elementwise_strides(Dims(std::span<const int64_t>(shape)), layouts);
  return Extents(s.begin(), s.end());
}

bool is_simple(double v) { return std::abs(v) < 2048 && v * 4096 == std::nearbyint(v * 4096); }

}  // namespace

int64_t Variable::numel() const { return product(shape); }
std::vector<int64_t> Variable::places() const { return walk(shape, strides, offset); }
std::vector<double> Variable::values() const {
  std::vector<double> v;
  for (int64_t place : places()) v.push_back(base->store->values[size_t(place)]);
  return v;
}

double rounded(double v, DType t) {
  if (t == DType::float32) return double(float(v));
  return t == DType::int64 ? std::trunc(v) : v;
}

std::optional<Extents> broadcast(const Extents& a, const Extents& b) {
  Extents shape(std::max(a.size(), b.size()), 1);
  for (const Extents* s : {&a, &b})
    for (size_t i = 0; i < s->size(); ++i) {
      int64_t& d = shape[shape.size() - s->size() + i];
      if (d != 1 && (*s)[i] != 1 && d != (*s)[i]) return {};
      if (d == 1) d = (*s)[i];
    }
  return shape;
}

// int64 < float32 < float64. Tensors with axes decide; 0-d tensors, then numbers, count when they turn integers into floats.
DType promoted(const Variable& x, const Variable* y, std::optional<DType> number) {
  auto larger = [](DType a, DType b) { return a == DType::float64 || b == DType::float64 ? DType::float64 : a == DType::float32 ? a : b; };
  std::optional<DType> with_axes, without;
  for (const Variable* v : {&x, y}) {
    if (!v) continue;
    std::optional<DType>& d = v->rank() ? with_axes : without;
    d = d ? larger(*d, v->dtype()) : v->dtype();
  }
  DType result = with_axes ? *with_axes : *without;
  if (with_axes && without && !is_floating(result) && is_floating(*without)) result = *without;
  if (number && is_floating(*number) && !is_floating(result)) result = DType::float32;
  return result;
}

// An input of an operation, spread over the shape of the result.
struct Reference::Operand {
  std::vector<double> values;
  std::vector<int> nodes;
  bool wants = false, inexact = false;
  int operation = -1;
  std::shared_ptr<Store> store;  // null where the operation keeps a copy of its own
  std::vector<int64_t> places;
  uint32_t version = 0;

  // The derivative of something with respect to `parent` is this element's value.
  Partial times(int parent, size_t i) const {
    return store ? Partial{parent, 1, store, places[i]} : Partial{parent, values[i], nullptr, 0};
  }
};

struct Reference::Result {
  std::vector<double> values;
  std::vector<int> nodes;
  std::vector<int> exponentials;  // elements' nodes whose derivative is the result itself
  bool record = false, inexact = false, keeps_result = false;
  Recorded recorded;

  void depends_on(const Operand& x) {
    if (!x.wants) return;
    record = true;
    recorded.parents.push_back(x.operation);
  }
  void save(const Operand& x) {
    if (x.store) recorded.saved.push_back({x.store, x.version});
  }
};

int Reference::node(std::vector<Partial> partials) {
  tape_.push_back(std::move(partials));
  return int(tape_.size()) - 1;
}

Reference::Operand Reference::operand(const Variable& x, const Extents& shape, DType common, const Store* target, bool grad) const {
  Extents strides(shape.size(), 0);
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (x.shape[i] != 1) strides[shape.size() - x.shape.size() + i] = x.strides[i];
  Operand o;
  const auto& base = x.base;
  o.wants = grad && x.wants();
  o.inexact = base->store->inexact;
  o.operation = base->operation;
  o.version = base->store->version;
  o.places = walk(shape, strides, x.offset);
  if (x.dtype() == common && base->store.get() != target) o.store = base->store;
  for (int64_t place : o.places) {
    o.values.push_back(rounded(base->store->values[size_t(place)], common));
    o.nodes.push_back(o.wants ? base->nodes[size_t(place)] : -1);
  }
  return o;
}

bool Reference::acceptable(const Result& r) const {
  return r.values.size() <= size_t(kMostElements) &&
         std::all_of(r.values.begin(), r.values.end(), [](double v) { return std::abs(v) <= kLargest; });
}

Outcome Reference::step(const Instruction& i) {
  const auto a = variables_.find(i.a), b = variables_.find(i.b);
  if ((i.a >= 0 && a == variables_.end()) || (i.b >= 0 && b == variables_.end())) return Outcome::skipped;
  if (i.op <= Op::random) return create(i);
  const Variable x = a->second;  // a copy: the map may change
  if (i.op <= Op::unsqueeze && i.op != Op::reshape) return make_view(i, x);
  if (i.op == Op::reshape) return strides_on(x, i.dims) ? make_view(i, x) : compute(i);
  if (is_write(i.op)) return write(i, x);
  if (i.op == Op::read || i.op == Op::drop) return read(i, x);
  return compute(i);
}

Outcome Reference::create(const Instruction& i) {
  const int64_t n = product(i.dims);
  auto base = std::make_shared<Base>();
  base->store = std::make_shared<Store>();
  Store& store = *base->store;
  store.dtype = i.dtype;
  for (int64_t k = 0; k < n; ++k) {
    if (i.op == Op::random) store.values.push_back(double(philox(uint64_t(i.number), uint64_t(k / 4))[size_t(k % 4)] >> 8) * 0x1p-24);
    else store.values.push_back(rounded(0.25 * double((k * 7 + int64_t(i.number)) % 17 - 8), i.dtype));
  }
  store.inexact = i.op == Op::random;
  uses_float32_ |= i.dtype == DType::float32;
  for (int64_t k = 0; k < n; ++k) base->nodes.push_back(i.flag ? node({}) : -1);
  base->wants = base->leaf = i.flag;
  variables_[i.out] = {base, i.dims, plain_strides(i.dims), 0};
  return Outcome::ok;
}

Outcome Reference::make_view(const Instruction& i, const Variable& x) {
  Variable y = x;
  switch (i.op) {
    case Op::view:
    case Op::reshape: {
      if (product(i.dims) != x.numel()) return Outcome::skipped;
      const std::optional<Extents> strides = strides_on(x, i.dims);
      if (!strides) return Outcome::shape_error;
      y.shape = i.dims;
      y.strides = *strides;
      break;
    }
    case Op::expand: {
      if (broadcast(x.shape, i.dims) != i.dims || product(i.dims) > kMostElements) return Outcome::skipped;
      y.shape = i.dims;
      y.strides.assign(i.dims.size(), 0);
      for (size_t k = 0; k < x.shape.size(); ++k) {
        const size_t d = i.dims.size() - x.shape.size() + k;
        if (x.shape[k] != 1 || i.dims[d] == 1) y.strides[d] = x.strides[k];
      }
      break;
    }
    case Op::permute:
      if (i.dims.size() != x.shape.size()) return Outcome::skipped;
      for (size_t k = 0; k < i.dims.size(); ++k) {
        y.shape[k] = x.shape[size_t(i.dims[k])];
        y.strides[k] = x.strides[size_t(i.dims[k])];
      }
      break;
    case Op::slice: {
      const size_t d = size_t(i.dims[0]);
      if (d >= x.shape.size() || i.dims[2] > x.shape[d] || i.dims[1] > i.dims[2]) return Outcome::skipped;
      y.shape[d] = (i.dims[2] - i.dims[1] + i.dims[3] - 1) / i.dims[3];
      y.strides[d] *= i.dims[3];
      y.offset += i.dims[1] * x.strides[d];
      break;
    }
    case Op::select: {
      const size_t d = size_t(i.dims[0]);
      if (d >= x.shape.size() || i.dims[1] >= x.shape[d]) return Outcome::skipped;
      y.offset += i.dims[1] * x.strides[d];
      y.shape.erase(y.shape.begin() + int64_t(d));
      y.strides.erase(y.strides.begin() + int64_t(d));
      break;
    }
    default: {  // unsqueeze
      const size_t d = size_t(i.dims[0]);
      if (d > x.shape.size()) return Outcome::skipped;
      y.strides.insert(y.strides.begin() + int64_t(d), d < x.shape.size() ? x.shape[d] * x.strides[d] : 1);
      y.shape.insert(y.shape.begin() + int64_t(d), 1);
    }
  }
  const bool recorded = !i.no_grad && x.wants();
  y.view = true;
  y.without_grad = i.no_grad || x.without_grad;
  y.frozen_at = recorded ? -1 : x.base->generation;
  variables_[i.out] = y;
  return Outcome::ok;
}

Reference::Result Reference::unary(const Instruction& i, const Variable& x, const Store* target) {
  const bool exponential = i.op == Op::exp || i.op == Op::exp_;
  const DType in = exponential && !is_floating(x.dtype()) ? DType::float32 : x.dtype();
  const DType out = i.op == Op::cast ? i.dtype : in;
  const Operand o = operand(x, x.shape, in, target, !i.no_grad);
  Result r;
  r.depends_on(o);
  r.inexact = o.inexact || exponential;
  r.keeps_result = exponential;
  for (size_t k = 0; k < o.values.size(); ++k) {
    const double v = o.values[k];
    r.values.push_back(rounded(exponential ? std::exp(v) : v, out));
    if (!r.record || !is_floating(out) || o.nodes[k] < 0) r.nodes.push_back(-1);
    else r.nodes.push_back(node({{o.nodes[k], 1, nullptr, 0}}));  // exp: the place of the result is filled in when it is known
  }
  return r;
}

Reference::Result Reference::binary(const Instruction& i, const Variable& x, const Variable* y, const Store* target) {
  const bool product_of = i.op == Op::mul || i.op == Op::mul_ || i.op == Op::mul_number || i.op == Op::mul_number_;
  const Extents shape = y ? *broadcast(x.shape, y->shape) : x.shape;
  const std::optional<DType> number = y ? std::nullopt : std::optional(i.number == std::trunc(i.number) ? DType::int64 : DType::float32);
  const DType common = promoted(x, y, number);
  const bool grad = !i.no_grad;
  Operand a = operand(x, shape, common, target, grad), b;
  if (y) b = operand(*y, shape, common, target, grad);
  else b.values.assign(a.values.size(), i.number), b.nodes.assign(a.values.size(), -1);
  const double alpha = y && !product_of ? i.number : 1;
  Result r;
  r.depends_on(a);
  r.depends_on(b);
  r.inexact = a.inexact || b.inexact;
  if (product_of) {
    if (a.wants) r.save(b);
    if (b.wants) r.save(a);
  }
  for (size_t k = 0; k < a.values.size(); ++k) {
    const double u = a.values[k], v = b.values[k];
    r.values.push_back(rounded(product_of ? u * v : u + alpha * v, common));
    if (a.nodes[k] < 0 && b.nodes[k] < 0) {
      r.nodes.push_back(-1);
      continue;
    }
    std::vector<Partial> partials;
    if (a.nodes[k] >= 0) partials.push_back(product_of ? b.times(a.nodes[k], k) : Partial{a.nodes[k], 1, nullptr, 0});
    if (b.nodes[k] >= 0) partials.push_back(product_of ? a.times(b.nodes[k], k) : Partial{b.nodes[k], alpha, nullptr, 0});
    r.nodes.push_back(node(std::move(partials)));
  }
  return r;
}

Reference::Result Reference::sum(const Instruction& i, const Variable& x) {
  const Operand o = operand(x, x.shape, x.dtype(), nullptr, !i.no_grad);
  // Where each element goes: strides of the result along kept axes, 0 along the others.
  Extents kept, strides(x.shape.size(), 0);
  std::vector<size_t> axes;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (!i.dims.empty() && std::find(i.dims.begin(), i.dims.end(), int64_t(d)) == i.dims.end())
      kept.push_back(x.shape[d]), axes.push_back(d);
  const Extents steps = plain_strides(kept);
  for (size_t k = 0; k < axes.size(); ++k) strides[axes[k]] = steps[k];
  const std::vector<int64_t> to = walk(x.shape, strides, 0);

  Result r;
  r.depends_on(o);
  r.inexact = o.inexact;
  r.values.assign(size_t(product(kept)), 0);
  std::vector<std::vector<Partial>> partials(r.values.size());
  for (size_t k = 0; k < to.size(); ++k) {
    r.values[size_t(to[k])] += o.values[k];
    if (o.nodes[k] >= 0) partials[size_t(to[k])].push_back({o.nodes[k], 1, nullptr, 0});
  }
  for (size_t k = 0; k < r.values.size(); ++k) {
    r.values[k] = rounded(r.values[k], x.dtype());
    r.nodes.push_back(partials[k].empty() ? -1 : node(std::move(partials[k])));
  }
  return r;
}

Reference::Result Reference::matmul(const Variable& x, const Variable& y, bool grad) {
  const Operand a = operand(x, x.shape, x.dtype(), nullptr, grad), b = operand(y, y.shape, y.dtype(), nullptr, grad);
  const size_t rows = size_t(x.shape[0]), inner = size_t(x.shape[1]), columns = size_t(y.shape[1]);
  Result r;
  r.depends_on(a);
  r.depends_on(b);
  r.inexact = a.inexact || b.inexact;
  if (a.wants) r.save(b);
  if (b.wants) r.save(a);
  for (size_t m = 0; m < rows; ++m)
    for (size_t n = 0; n < columns; ++n) {
      double total = 0;
      std::vector<Partial> partials;
      for (size_t k = 0; k < inner; ++k) {
        const size_t u = m * inner + k, v = k * columns + n;
        total += a.values[u] * b.values[v];
        if (a.nodes[u] >= 0) partials.push_back(b.times(a.nodes[u], v));
        if (b.nodes[v] >= 0) partials.push_back(a.times(b.nodes[v], u));
      }
      r.values.push_back(rounded(total, x.dtype()));
      r.nodes.push_back(partials.empty() ? -1 : node(std::move(partials)));
    }
  return r;
}

Outcome Reference::compute(const Instruction& i) {
  const Variable& x = variables_.at(i.a);
  const Variable* y = i.b >= 0 ? &variables_.at(i.b) : nullptr;
  switch (i.op) {
    case Op::detach: {
      Variable d = x;
      d.base = std::make_shared<Base>();
      d.base->store = x.base->store;
      d.base->nodes.assign(x.base->nodes.size(), -1);
      const std::vector<int64_t> places = x.places();
      d.base->overlaps = std::set<int64_t>(places.begin(), places.end()).size() < places.size();
      d.view = d.without_grad = false;
      d.frozen_at = -1;
      variables_[i.out] = d;
      return Outcome::ok;
    }
    case Op::reshape:  // a copy in plain order
      return product(i.dims) == x.numel() ? finish(i, unary(i, x, nullptr), i.dims, plain_strides(i.dims), x.dtype()) : Outcome::skipped;
    case Op::clone:
      return finish(i, unary(i, x, nullptr), x.shape, strides_like({&x}, x.shape), x.dtype());
    case Op::cast:
      if (i.dtype == DType::int64 && x.base->store->inexact) return Outcome::skipped;
      return finish(i, unary(i, x, nullptr), x.shape, strides_like({&x}, x.shape), i.dtype);
    case Op::exp: {
      for (double v : x.values())
        if (std::abs(v) > kLargestExponent) return Outcome::skipped;
      return finish(i, unary(i, x, nullptr), x.shape, strides_like({&x}, x.shape), is_floating(x.dtype()) ? x.dtype() : DType::float32);
    }
    case Op::add:
    case Op::mul:
    case Op::add_number:
    case Op::mul_number: {
      const std::optional<Extents> shape = y ? broadcast(x.shape, y->shape) : x.shape;
      if (!shape) return Outcome::skipped;
      std::optional<DType> number;
      if (!y) number = i.number == std::trunc(i.number) ? DType::int64 : DType::float32;
      return finish(i, binary(i, x, y, nullptr), *shape, strides_like({&x, y}, *shape), promoted(x, y, number));
    }
    case Op::sum: {
      Extents shape;
      for (size_t d = 0; d < x.shape.size(); ++d) {
        const bool folded = i.dims.empty() || std::find(i.dims.begin(), i.dims.end(), int64_t(d)) != i.dims.end();
        if (!folded || i.flag) shape.push_back(folded ? 1 : x.shape[d]);
      }
      for (int64_t d : i.dims)
        if (d >= x.rank()) return Outcome::skipped;
      return finish(i, sum(i, x), shape, plain_strides(shape), x.dtype());
    }
    case Op::matmul:
      if (x.rank() != 2 || y->rank() != 2 || x.shape[1] != y->shape[0] || x.dtype() != y->dtype()) return Outcome::skipped;
      return finish(i, matmul(x, *y, !i.no_grad), {x.shape[0], y->shape[1]}, plain_strides({x.shape[0], y->shape[1]}), x.dtype());
    default: {  // nonzero
      if (x.base->store->inexact) return Outcome::skipped;
      Result r;
      int64_t rows = 0;
      const std::vector<double> values = x.values();
      const Extents steps = plain_strides(x.shape);
      for (size_t k = 0; k < values.size(); ++k) {
        if (values[k] == 0) continue;
        ++rows;
        for (size_t d = 0; d < x.shape.size(); ++d) r.values.push_back(double(int64_t(k) / steps[d] % x.shape[d]));
      }
      r.nodes.assign(r.values.size(), -1);
      return finish(i, r, {rows, x.rank()}, plain_strides({rows, x.rank()}), DType::int64);
    }
  }
}

// A fresh tensor that holds the result.
Outcome Reference::finish(const Instruction& i, Result r, Extents shape, Extents strides, DType dtype) {
  if (!acceptable(r)) return Outcome::skipped;
  auto base = std::make_shared<Base>();
  base->store = std::make_shared<Store>(Store{std::vector<double>(r.values.size()), dtype, 0, r.inexact});
  base->nodes.assign(r.values.size(), -1);
  const Variable y{base, shape, strides, 0};
  const std::vector<int64_t> places = y.places();
  for (size_t k = 0; k < places.size(); ++k) {
    base->store->values[size_t(places[k])] = r.values[k];
    base->nodes[size_t(places[k])] = r.nodes[k];
    base->store->inexact |= !is_simple(r.values[k]);
    if (r.keeps_result && r.nodes[k] >= 0) {
      tape_[size_t(r.nodes[k])][0].store = base->store;
      tape_[size_t(r.nodes[k])][0].place = places[k];
    }
  }
  if (r.record && is_floating(dtype)) {
    if (r.keeps_result) r.recorded.saved.push_back({base->store, 0});
    operations_.push_back(std::move(r.recorded));
    base->operation = int(operations_.size()) - 1;
    base->wants = true;
  }
  uses_float32_ |= dtype == DType::float32;
  variables_[i.out] = y;
  return Outcome::ok;
}

Outcome Reference::write(const Instruction& i, const Variable& target) {
  const Variable* y = i.b >= 0 ? &variables_.at(i.b) : nullptr;
  if (y && broadcast(target.shape, y->shape) != target.shape) return Outcome::skipped;
  const Store* store = target.base->store.get();
  const bool through_data = i.op == Op::data_mul_ || i.op == Op::data_copy_;
  Result r;
  DType dtype = target.dtype();
  switch (i.op) {
    case Op::copy_:
    case Op::data_copy_: {
      if (!is_floating(dtype) && y->base->store->inexact) return Outcome::skipped;
      const Operand o = operand(*y, target.shape, y->dtype(), store, !i.no_grad);
      r.depends_on(o);
      r.inexact = o.inexact;
      for (size_t k = 0; k < o.values.size(); ++k) {
        r.values.push_back(rounded(o.values[k], dtype));
        r.nodes.push_back(o.nodes[k] >= 0 && is_floating(dtype) ? node({{o.nodes[k], 1, nullptr, 0}}) : -1);
      }
      break;
    }
    case Op::add_:
    case Op::mul_:
    case Op::add_number_:
    case Op::mul_number_: {
      std::optional<DType> number;
      if (!y) number = i.number == std::trunc(i.number) ? DType::int64 : DType::float32;
      dtype = promoted(target, y, number);
      r = binary(i, target, y, store);
      break;
    }
    case Op::exp_:
      for (double v : target.values())
        if (std::abs(v) > kLargestExponent) return Outcome::skipped;
      r = unary(i, target, store);
      if (!is_floating(dtype)) dtype = DType::float32;
      break;
    case Op::data_mul_:
      dtype = promoted(target, nullptr, i.number == std::trunc(i.number) ? DType::int64 : DType::float32);
      for (double v : target.values()) r.values.push_back(rounded(v * i.number, dtype)), r.nodes.push_back(-1);
      r.inexact = store->inexact;
      break;
    default:  // fill_, uniform_
      for (int64_t k = 0; k < target.numel(); ++k) {
        r.values.push_back(i.op == Op::fill_ ? rounded(i.number, dtype)
                                             : double(philox(uint64_t(i.number), uint64_t(k / 4))[size_t(k % 4)] >> 8) * 0x1p-24);
        r.nodes.push_back(-1);
      }
      r.inexact = i.op == Op::uniform_;
      if (i.op == Op::uniform_ && !is_floating(dtype)) return Outcome::dtype_error;
  }
  if (is_floating(dtype) && !is_floating(target.dtype())) return Outcome::dtype_error;
  if (repeats(target.places())) return Outcome::gradient_error;
  if (!acceptable(r)) return Outcome::skipped;
  for (double& v : r.values) v = rounded(v, target.dtype());
  return store_into(target, std::move(r), !i.no_grad && !through_data, !through_data);
}

Outcome Reference::store_into(const Variable& target, Result r, bool grad, bool tracked) {
  Base& base = *target.base;
  // A view made under no_grad wants nothing itself, but a write to it concerns its base.
  const bool record = grad && is_floating(target.dtype()) && (r.record || target.wants() || (target.view && base.wants));
  if (record) {
    if (base.wants && base.leaf) return Outcome::gradient_error;
    if (target.view && (target.without_grad || base.overlaps)) return Outcome::gradient_error;
  }
  base.store->version += tracked;
  base.store->inexact |= r.inexact;
  const std::vector<int64_t> places = target.places();
  for (size_t k = 0; k < places.size(); ++k) {
    const size_t place = size_t(places[k]);
    base.store->values[place] = r.values[k];
    base.store->inexact |= !is_simple(r.values[k]);
    if (!record) continue;
    base.nodes[place] = r.nodes[k];
    if (r.keeps_result && r.nodes[k] >= 0) {
      tape_[size_t(r.nodes[k])][0].store = base.store;
      tape_[size_t(r.nodes[k])][0].place = places[k];
    }
  }
  if (!record) return Outcome::ok;
  if (target.view && base.wants) r.recorded.parents.push_back(base.operation);
  if (r.keeps_result) r.recorded.saved.push_back({base.store, base.store->version});
  operations_.push_back(std::move(r.recorded));
  base.operation = int(operations_.size()) - 1;
  base.wants = true;
  base.leaf = false;
  ++base.generation;
  return Outcome::ok;
}

Outcome Reference::read(const Instruction& i, const Variable& x) {
  if (i.op == Op::read) readings_[i.out] = x.values();
  else variables_.erase(i.a);
  return Outcome::ok;
}

}  // namespace pyburn::fuzz
