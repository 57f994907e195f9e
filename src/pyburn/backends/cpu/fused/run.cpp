#include "pyburn/backends/cpu/fused/run.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "pyburn/backends/cpu/fused/reduce.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

struct alignas(64) Buffer {
  std::byte bytes[kTile * 8];
};

template <class U>
void copy_run(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, size_t(n) * sizeof(U));
    return;
  }
  if (to_stride == 1 && from_stride == 0) {
    std::fill_n(static_cast<U*>(to), n, *static_cast<const U*>(from));
    return;
  }
  for (int64_t i = 0; i < n; ++i) static_cast<U*>(to)[i * to_stride] = static_cast<const U*>(from)[i * from_stride];
}
void copy_elements(int64_t size, const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n) {
  switch (size) {
    case 1:
      return copy_run<uint8_t>(from, from_stride, to, to_stride, n);
    case 2:
      return copy_run<uint16_t>(from, from_stride, to, to_stride, n);
    case 4:
      return copy_run<uint32_t>(from, from_stride, to, to_stride, n);
    default:
      return copy_run<uint64_t>(from, from_stride, to, to_stride, n);
  }
}

void load(DType from, const char* p, int64_t stride, DType to, void* tile, int64_t n) {
  if (from == to) copy_elements(size_of(from), p, stride, tile, 1, n);
  else load_tile(from, p, stride, to, tile, n);
}

std::pair<uintptr_t, uintptr_t> bytes_of(const TensorHandle& t) {
  const auto [first, last] = t.layout().extent();
  const auto base = reinterpret_cast<uintptr_t>(t.storage()->host);
  return {base + uintptr_t(first * size_of(t.dtype())), base + uintptr_t(last * size_of(t.dtype()))};
}

char* first_element(const TensorHandle& t) { return static_cast<char*>(t.storage()->host) + t.layout().offset * size_of(t.dtype()); }

std::atomic<uint64_t> runs{0};

}  // namespace

bool overlap(const TensorHandle& a, const TensorHandle& b) {
  const auto [first, last] = bytes_of(a);
  const auto [other_first, other_last] = bytes_of(b);
  return first < other_last && other_first < last;
}

FusedRun::FusedRun(const Section& section, Inputs in, Outputs out, const Layout* order) : section_(section), in_(in), id_(++runs) {
  SmallVector<const Layout*, 8> layouts;
  for (const TensorHandle* t : in) layouts.push_back(&t->layout());
  const GraphNode& last = section.body.nodes.back();
  for (size_t i = 0; i < out.size(); ++i) {
    if (last.op.info().kind == Kind::reduce && last.out[0] == section.outputs[int64_t(i)]) reduced_ = &out[i];
    else layouts.push_back(&out[i].layout()), stored_.push_back(&out[i]);
  }
  if (!has_one_shape()) return;
  // A reduction needs the elements of a result side by side; else memory is walked in the order of the outputs.
  const Layout plain = contiguous_layout(in[0]->shape());
  layouts.push_back(reduced_ ? &plain : order ? order : &stored_[0]->layout());
  loop_ = collapse({layouts.data(), size_t(layouts.size())});
  for (size_t i = 0; i < in.size(); ++i) inputs_.push_back(access(*in[i], loop_.strides[int64_t(i)]));
  for (int64_t i = 0; i < stored_.size(); ++i) outputs_.push_back(access(*stored_[i], loop_.strides[int64_t(in.size()) + i]));
  numel_ = in[0]->numel();
}

// One index space for all tensors but the reduced one, and something in it.
bool FusedRun::has_one_shape() const {
  if (in_.empty() || (stored_.empty() && !reduced_) || in_[0]->numel() == 0) return false;
  const Shape& shape = in_[0]->shape();
  return std::all_of(in_.begin(), in_.end(), [&](const TensorHandle* t) { return t->shape() == shape; }) &&
         std::all_of(stored_.begin(), stored_.end(), [&](const TensorHandle* t) { return t->shape() == shape; });
}

bool FusedRun::compile(const KernelTable& kernels) {
  if (numel_ == 0) return false;
  SmallVector<bool, 16> constant;
  for (const Access& a : inputs_) constant.push_back(a.constant);
  std::optional<Program> program = cpu::compile(section_, kernels, {constant.data(), size_t(constant.size())});
  if (!program) return false;
  program_ = std::move(*program);
  choose_direct_outputs();
  keep_overwritten_inputs();
  return true;
}

void FusedRun::find_memory() {
  id_ = ++runs;
  for (Access& a : inputs_) a.base = first_element(*a.tensor);
  for (Access& a : outputs_) a.base = first_element(*a.tensor);
}

void FusedRun::run_piece(int64_t width, int64_t i, int64_t rows, int64_t j, int64_t columns) const {
  constexpr int64_t kAhead = 4, kLine = 64, kMost = 16384;  // rows; bytes of a line, and of a row at most
  if (columns == width) columns *= rows, rows = 1;          // one row after the other
  for (int64_t r = 0; r < rows; ++r) {
    // Rows begin at places that the processor does not foresee. What was made just now is in the cache: it is the first input.
    for (int64_t k = 1; r + kAhead < rows && k < inputs_.size(); ++k) {
      const Access& a = inputs_[k];
      const char* from = a.base + ((i + r + kAhead) * width + j) * a.size;
      for (int64_t at = 0; a.flat && at < std::min(kMost, columns * a.size); at += kLine) __builtin_prefetch(from + at);
    }
    run_tiles((i + r) * width + j, (i + r) * width + j + columns);
  }
}

void FusedRun::run() const {
  if (program_.reduction) return run_rows();
  parallel_for(numel_, kGrain, [&](int64_t begin, int64_t end) { run_tiles(begin, end); });
}

void FusedRun::run_tiles(int64_t begin, int64_t end) const {
  State& s = state();
  for (int64_t at = begin; at < end; at += kTile) run_tile_at(s, at, std::min(kTile, end - at));
}

struct FusedRun::State {
  uint64_t run = 0;  // whose state it is
  std::vector<Buffer> buffers;
  SmallVector<void*, 32> at;
};

// It is set up once per thread and run: a run may consist of many pieces.
FusedRun::State& FusedRun::state() const {
  thread_local State s;
  if (s.run == id_) return s;
  if (s.buffers.size() < size_t(program_.buffers)) s.buffers.resize(size_t(program_.buffers));
  s.at.clear();
  for (const Register& r : program_.registers) s.at.push_back(s.buffers[size_t(r.buffer)].bytes);
  for (const Instruction& i : program_.code)
    if (i.action == Instruction::Action::load && inputs_[i.input].constant)
      load(i.from, inputs_[i.input].base, 0, i.to, s.at[i.out], kTile);
  s.run = id_;
  return s;
}

FusedRun::Access FusedRun::access(const TensorHandle& t, const Dims& strides) const {
  const int64_t size = size_of(t.dtype());
  Access a{&t, first_element(t), size, &strides};
  int64_t expected = 1;
  for (int64_t i = loop_.shape.size() - 1; i >= 0; --i) {
    a.flat &= strides[i] == expected;
    a.constant &= strides[i] == 0;
    expected *= loop_.shape[i];
  }
  a.constant &= !loop_.shape.empty();
  return a;
}

// A result may be computed straight into its memory, unless that memory is an input that is read later.
void FusedRun::choose_direct_outputs() {
  SmallVector<int, 16> taken;
  for (int64_t k = 0; k < stored_.size(); ++k) {
    const int r = program_.results[size_t(k)];
    const int made_by = program_.registers[size_t(r)].made_by;
    bool direct = outputs_[k].flat && program_.code[size_t(made_by)].action != Instruction::Action::load;
    direct &= std::find(taken.begin(), taken.end(), r) == taken.end();
    for (size_t i = 0; direct && i < in_.size(); ++i) direct = program_.last_read[i] <= made_by || !overlap(*in_[i], *stored_[k]);
    if (direct) taken.push_back(r);
    direct_.push_back(direct);
  }
}

// tmp = x.clone(); x.copy_(y); y.copy_(tmp): a result may be what an input held before it was written.
void FusedRun::keep_overwritten_inputs() {
  for (size_t i = 0; i < in_.size(); ++i)
    for (const TensorHandle* out : stored_)
      inputs_[int64_t(i)].kept |= program_.last_read[i] == int(program_.code.size()) && overlap(*out, *in_[i]);
}

// Calls piece(done, pointer, stride, n) for each row of the innermost axis in [begin, begin + n).
template <class Piece>
void FusedRun::for_each_piece(const Access& a, int64_t begin, int64_t n, Piece piece) const {
  const int64_t axes = loop_.shape.size();
  if (axes == 0) return piece(int64_t(0), a.base, int64_t(1), n);
  Dims index(axes, 0);
  for (int64_t i = axes - 1, rest = begin; i >= 0; --i) {
    index[i] = rest % loop_.shape[i];
    rest /= loop_.shape[i];
  }
  const Dims& strides = *a.strides;
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(n - done, loop_.shape[axes - 1] - index[axes - 1]);
    int64_t offset = 0;
    for (int64_t i = 0; i < axes; ++i) offset += index[i] * strides[i];
    piece(done, a.base + offset * a.size, strides[axes - 1], length);
    done += length;
    index[axes - 1] += length;
    for (int64_t i = axes - 1; i > 0 && index[i] == loop_.shape[i]; --i) {
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

void FusedRun::load_input(State& s, const Instruction& i, int64_t begin, int64_t n) const {
  const Access& a = inputs_[i.input];
  if (a.constant) return;  // done when the state was made
  if (a.flat && i.from == i.to && !a.kept) {
    s.at[i.out] = a.base + begin * a.size;
    return;
  }
  const int64_t size = size_of(i.to);
  for_each_piece(a, begin, n, [&](int64_t done, const char* p, int64_t stride, int64_t length) {
    load(i.from, p, stride, i.to, static_cast<char*>(s.at[i.out]) + done * size, length);
  });
}

void FusedRun::run_tile_at(State& s, int64_t begin, int64_t n) const {
  for (int64_t k = 0; k < outputs_.size(); ++k)
    if (direct_[k]) s.at[program_.results[size_t(k)]] = outputs_[k].base + begin * outputs_[k].size;
  for (const Instruction& i : program_.code) switch (i.action) {
      case Instruction::Action::load:
        load_input(s, i, begin, n);
        break;
      case Instruction::Action::compute: {
        const void* operands[3];
        for (int k = 0; k < 3; ++k) operands[k] = i.in[k] >= 0 ? s.at[i.in[k]] : nullptr;
        i.fn(i.attrs, operands, s.at[i.out], n);
        break;
      }
      case Instruction::Action::to_compute:
        load_tile(i.from, s.at[i.in[0]], 1, i.to, s.at[i.out], n);
        break;
      case Instruction::Action::to_storage:
        store_tile(i.from, s.at[i.in[0]], i.to, s.at[i.out], 1, n);
        break;
    }
  for (int64_t k = 0; k < outputs_.size(); ++k) {
    if (direct_[k]) continue;
    const Access& a = outputs_[k];
    const char* tile = static_cast<const char*>(s.at[program_.results[size_t(k)]]);
    for_each_piece(a, begin, n,
        [&](int64_t done, char* p, int64_t stride, int64_t length) { copy_elements(a.size, tile + done * a.size, 1, p, stride, length); });
  }
}

// Rows are what one result is made of. Long rows are split at fixed places, so the order of additions, and with it
// the result, does not depend on the number of threads.
void FusedRun::run_rows() const {
  const Reduce& a = program_.reduction->op.ref().as<Reduce>();
  const int64_t row = count(section_.shape(program_.reduction->in[0]), a.dim), rows = numel_ / row;
  const int64_t parts = (row + kGrain - 1) / kGrain, part = parts > 1 ? kGrain : row;
  const DType compute = program_.registers[size_t(program_.folded)].dtype;
  const int64_t size = size_of(compute);
  const Folder folder = cpu::folder(program_.reduction->op.info(), compute);
  auto end_of = [&](int64_t unit) { return std::min(unit / parts * row + (unit % parts + 1) * part, (unit / parts + 1) * row); };
  const int64_t units = Checked(rows) * parts;
  ScratchBuffer<Lanes> partial(parts > 1 ? units : 0);
  parallel_for(units, std::max<int64_t>(1, kGrain / part), [&](int64_t unit, int64_t end_unit) {
    State& state = this->state();
    Lanes lanes;
    folder.start(lanes);
    const int64_t begin = unit / parts * row + unit % parts * part, end = end_of(end_unit - 1);
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = std::min(kTile, end - at);
      run_tile_at(state, at, n);
      for (int64_t done = 0; done < n;) {
        const int64_t length = std::min(n - done, end_of(unit) - (at + done));
        folder.fold(lanes, static_cast<const char*>(state.at[program_.folded]) + done * size, length);
        done += length;
        if (at + done < end_of(unit)) continue;
        if (parts > 1) partial.data()[unit] = lanes;
        else store_result(folder, compute, unit, lanes, row);
        folder.start(lanes);
        ++unit;
      }
    }
  });
  for (int64_t r = 0; parts > 1 && r < rows; ++r) {
    Lanes& first = partial.data()[r * parts];
    for (int64_t p = 1; p < parts; ++p) folder.join(first, partial.data()[r * parts + p]);
    store_result(folder, compute, r, first, row);
  }
}

void FusedRun::store_result(const Folder& folder, DType compute, int64_t result, const Lanes& lanes, int64_t count) const {
  alignas(8) std::byte value[8];
  folder.finish(lanes, count, value);
  const Layout& l = reduced_->layout();
  const Shape& shape = section_.shape(program_.reduction->in[0]);
  int64_t offset = l.offset;
  for (int64_t i = shape.rank() - program_.reduction->op.ref().as<Reduce>().dim.size() - 1; i >= 0; --i) {  // the axes that stay
    offset += result % shape[i] * l.strides[i];
    result /= shape[i];
  }
  const int64_t size = size_of(reduced_->dtype());
  char* p = static_cast<char*>(reduced_->storage()->host) + offset * size;
  if (compute == reduced_->dtype()) copy_elements(size, value, 1, p, 1, 1);
  else store_tile(compute, value, reduced_->dtype(), p, 1, 1);
}

}  // namespace pyburn::cpu
