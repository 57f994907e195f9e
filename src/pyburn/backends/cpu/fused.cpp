// fused: runs a program over tiles. What it computes on the way never leaves the first-level cache.
#include "pyburn/ops/fused.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fused/program.h"
#include "pyburn/backends/cpu/fused/reduce.h"
#include "pyburn/backends/cpu/matmul.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

struct alignas(64) Buffer {
  std::byte bytes[kTile * 8];
};

// How a tensor is walked in the order of the loop.
struct Access {
  char* base;
  int64_t size;  // of an element
  const Dims* strides;
  bool flat = true;      // its elements lie in the order of the loop, without holes
  bool constant = true;  // one element for all
  bool kept = false;     // its old elements are wanted when the tile is stored, which overwrites them
};

template <class U>
void copy_run(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n) {
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

bool is_reduced(const Graph& body, size_t output) {
  const GraphNode& last = body.nodes.back();
  return last.op.info().kind == Kind::reduce && last.out[0] == body.outputs[output];
}

// One index space for all tensors but the reduced one, and something in it.
bool has_one_shape(const Graph& body, Inputs in, Outputs out) {
  if (body.nodes.empty() || in.empty() || out.empty() || in[0]->numel() == 0) return false;
  for (const TensorHandle* t : in)
    if (!(t->shape() == in[0]->shape())) return false;
  for (size_t i = 0; i < out.size(); ++i)
    if (!is_reduced(body, i) && !(out[i].shape() == in[0]->shape())) return false;
  return true;
}

class FusedRun {
 public:
  // In order: as the elements are counted, whatever the order of memory.
  FusedRun(const Graph& body, Inputs in, Outputs out, bool in_order) : body_(body) {
    const Shape& shape = in[0]->shape();
    SmallVector<const Layout*, 8> layouts;
    for (const TensorHandle* t : in) layouts.push_back(&t->layout());
    for (size_t i = 0; i < out.size(); ++i) {
      if (is_reduced(body, i)) reduced_ = &out[i];
      else layouts.push_back(&out[i].layout()), stored_.push_back(&out[i]);
    }
    // A reduction needs the elements of a result side by side; else memory is walked in the order of the outputs.
    const Layout plain = contiguous_layout(shape);
    layouts.push_back(reduced_ || in_order ? &plain : &stored_[0]->layout());
    loop_ = collapse({layouts.data(), size_t(layouts.size())});
    for (size_t i = 0; i < in.size(); ++i) inputs_.push_back(access(*in[i], loop_.strides[int64_t(i)]));
    for (int64_t i = 0; i < stored_.size(); ++i) outputs_.push_back(access(*stored_[i], loop_.strides[int64_t(in.size()) + i]));
    numel_ = shape.numel();
  }

  bool compile(const KernelTable& kernels, Inputs in) {
    SmallVector<bool, 16> constant;
    for (const Access& a : inputs_) constant.push_back(a.constant);
    std::optional<Program> program = cpu::compile(body_, kernels, {constant.data(), size_t(constant.size())});
    if (!program) return false;
    program_ = std::move(*program);
    choose_direct_outputs(in);
    keep_overwritten_inputs(in);
    return true;
  }

  bool reduces() const { return program_.reduction; }

  // Rows [i, i + rows) and columns [j, j + columns) of a matrix of that width: how the elements are counted.
  void run_piece(int64_t width, int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    State state(*this);
    if (columns == width) columns *= rows, rows = 1;  // one row after the other
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t at = 0; at < columns; at += kTile) run_tile_at(state, (i + r) * width + j + at, std::min(kTile, columns - at));
  }

  void run() {
    if (program_.reduction) return run_rows();
    parallel_for(numel_, kGrain, [&](int64_t begin, int64_t end) {
      State state(*this);
      for (int64_t at = begin; at < end; at += kTile) run_tile_at(state, at, std::min(kTile, end - at));
    });
  }

 private:
  // What one thread keeps: where each register is at the moment.
  struct State {
    explicit State(const FusedRun& run) {
      thread_local std::vector<Buffer> buffers;
      if (buffers.size() < size_t(run.program_.buffers)) buffers.resize(size_t(run.program_.buffers));
      for (const Register& r : run.program_.registers) at.push_back(buffers[size_t(r.buffer)].bytes);
      for (const Instruction& i : run.program_.code)
        if (i.action == Instruction::Action::load && run.inputs_[i.input].constant)
          load(i.from, run.inputs_[i.input].base, 0, i.to, at[i.out], kTile);
    }
    SmallVector<void*, 32> at;
  };

  Access access(const TensorHandle& t, const Dims& strides) const {
    const int64_t size = size_of(t.dtype());
    Access a{static_cast<char*>(t.storage()->host) + t.layout().offset * size, size, &strides};
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
  void choose_direct_outputs(Inputs in) {
    SmallVector<int, 16> taken;
    for (int64_t k = 0; k < stored_.size(); ++k) {
      const int r = program_.results[size_t(k)];
      const int made_by = program_.registers[size_t(r)].made_by;
      bool direct = outputs_[k].flat && program_.code[size_t(made_by)].action != Instruction::Action::load;
      direct &= std::find(taken.begin(), taken.end(), r) == taken.end();
      for (size_t i = 0; direct && i < in.size(); ++i)
        direct = in[i]->storage() != stored_[k]->storage() || program_.last_read[i] <= made_by;
      if (direct) taken.push_back(r);
      direct_.push_back(direct);
    }
  }

  // tmp = x.clone(); x.copy_(y); y.copy_(tmp): a result may be what an input held before it was written.
  void keep_overwritten_inputs(Inputs in) {
    for (size_t i = 0; i < in.size(); ++i)
      for (const TensorHandle* out : stored_)
        inputs_[int64_t(i)].kept |= out->storage() == in[i]->storage() && program_.last_read[i] == int(program_.code.size());
  }

  // Calls piece(done, pointer, stride, n) for each row of the innermost axis in [begin, begin + n).
  template <class Piece>
  void for_each_piece(const Access& a, int64_t begin, int64_t n, Piece piece) const {
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

  void load_input(State& s, const Instruction& i, int64_t begin, int64_t n) const {
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

  void run_tile_at(State& s, int64_t begin, int64_t n) const {
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
      for_each_piece(a, begin, n, [&](int64_t done, char* p, int64_t stride, int64_t length) {
        copy_elements(a.size, tile + done * a.size, 1, p, stride, length);
      });
    }
  }

  // Rows are what one result is made of. Long rows are split at fixed places, so the order of additions, and with it
  // the result, does not depend on the number of threads.
  void run_rows() {
    const Reduce& a = program_.reduction->op.ref().as<Reduce>();
    const int64_t row = count(body_.values[size_t(program_.reduction->in[0])].shape, a.dim), rows = numel_ / row;
    const int64_t parts = (row + kGrain - 1) / kGrain, part = parts > 1 ? kGrain : row;
    const DType compute = program_.registers[size_t(program_.folded)].dtype;
    const int64_t size = size_of(compute);
    const Folder folder = cpu::folder(program_.reduction->op.info(), compute);
    auto end_of = [&](int64_t unit) { return std::min(unit / parts * row + (unit % parts + 1) * part, (unit / parts + 1) * row); };
    const int64_t units = Checked(rows) * parts;
    ScratchBuffer<Lanes> partial(parts > 1 ? units : 0);
    parallel_for(units, std::max<int64_t>(1, kGrain / part), [&](int64_t unit, int64_t end_unit) {
      State state(*this);
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

  void store_result(const Folder& folder, DType compute, int64_t result, const Lanes& lanes, int64_t count) const {
    alignas(8) std::byte value[8];
    folder.finish(lanes, count, value);
    const Layout& l = reduced_->layout();
    const Shape& shape = body_.values[size_t(program_.reduction->in[0])].shape;
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

  const Graph& body_;
  Program program_;
  Loop loop_;
  SmallVector<Access, 8> inputs_, outputs_;
  SmallVector<const TensorHandle*, 4> stored_;  // the outputs that are not reduced
  const TensorHandle* reduced_ = nullptr;
  SmallVector<bool, 8> direct_;  // per stored output
  int64_t numel_ = 0;
};

void replay(const Fused& a, Inputs in, Outputs out) {
  LevelScope scope(cpu_backend());
  const Tensors results = op::fused.decompose({&op::fused, &a}, in);
  for (size_t i = 0; i < out.size(); ++i) convert_into(results[int64_t(i)], out[i]);
}

bool is_product(const GraphNode& node) { return &node.op.info() == &op::bmm || &node.op.info() == &op::bmm_plus; }

// A body that begins with a product: the rest of it runs on each piece of the result as soon as the piece is there.
class FusedProduct {
 public:
  FusedProduct(const Fused& a, Inputs in, Outputs out) : body_(*a.body), product_(body_.nodes[0]), result_(product_.out[0]) {
    if (const GraphNode& next = body_.nodes[1]; &next.op.info() == &op::view && next.in[0] == result_) {
      result_ = next.out[0];
      rest_begin_ = 2;
    }
    for (ValueId v : product_.in) factors_.add(tensor(v, in));
    choose_memory(in, out);
    describe_rest(in, out);
  }

  // False: the body is another one than it seemed, and nothing was done.
  bool run() {
    if (!simple_ || !has_one_shape(*rest_, inputs_, outputs())) return false;
    FusedRun run(*rest_, inputs_, outputs(), true);
    if (!run.compile(cpu_backend().kernels(), inputs_)) return false;
    const int64_t width = memory_.shape()[2];
    auto finish = [&](int64_t i, int64_t rows, int64_t j, int64_t columns) { run.run_piece(width, i, rows, j, columns); };
    multiply_batches(product_.op.ref(), factors_, memory_, run.reduces() ? Finish() : Finish(finish));
    if (run.reduces()) run.run();
    return true;
  }

 private:
  const TensorHandle& tensor(ValueId v, Inputs in) {
    for (size_t i = 0; i < in.size(); ++i)
      if (body_.inputs[i] == v) return *in[i];
    simple_ = false;
    return *in[0];
  }
  Outputs outputs() { return {outputs_.data(), size_t(outputs_.size())}; }

  // The memory of an output, if it can be: of the product itself, or of a result that takes its place. No input may lie there.
  void choose_memory(Inputs in, Outputs out) {
    const Meta &made = body_.values[size_t(product_.out[0])], &seen = body_.values[size_t(result_)];
    const TensorHandle* chosen = nullptr;
    for (size_t k = 0; k < out.size(); ++k) {
      bool fits = out[k].dtype() == made.dtype && out[k].shape() == seen.shape && out[k].layout().is_contiguous();
      for (const TensorHandle* t : in) fits &= t->storage() != out[k].storage();
      if (fits && (!chosen || body_.outputs[k] == result_)) chosen = &out[k];
    }
    const TensorHandle room = chosen ? *chosen : scratch(in[0]->device(), seen.shape, made.dtype);
    Layout as_made = contiguous_layout(made.shape), as_seen = contiguous_layout(seen.shape);
    as_made.offset = as_seen.offset = room.layout().offset;
    memory_ = make_tensor(room.device(), made.dtype, as_made, room.impl()->storage);
    seen_ = make_tensor(room.device(), made.dtype, as_seen, room.impl()->storage);
  }

  void describe_rest(Inputs in, Outputs out) {
    rest_->values = body_.values;
    rest_->nodes.assign(body_.nodes.begin() + rest_begin_, body_.nodes.end());
    rest_->inputs.push_back(result_);
    inputs_.add(seen_);
    for (size_t i = 0; i < in.size(); ++i) {
      bool used = false;
      for (const GraphNode& node : rest_->nodes) used |= std::find(node.in.begin(), node.in.end(), body_.inputs[i]) != node.in.end();
      if (!used) continue;
      rest_->inputs.push_back(body_.inputs[i]);
      inputs_.add(*in[i]);
    }
    for (const GraphNode& node : rest_->nodes)
      simple_ &= result_ == product_.out[0] || std::find(node.in.begin(), node.in.end(), product_.out[0]) == node.in.end();
    for (size_t k = 0; k < out.size(); ++k) {
      simple_ &= result_ == product_.out[0] || body_.outputs[k] != product_.out[0];
      if (body_.outputs[k] == result_ && out[k].storage() == memory_.storage()) continue;  // it is there
      rest_->outputs.push_back(body_.outputs[k]);
      outputs_.push_back(out[k]);
    }
    simple_ &= !rest_->nodes.empty() && !outputs_.empty();
  }

  const Graph& body_;
  const GraphNode& product_;
  ValueId result_;  // as the rest sees it
  int64_t rest_begin_ = 1;
  bool simple_ = true;
  Ref<Graph> rest_ = make_ref<Graph>();
  InputList factors_, inputs_;
  Tensors outputs_;
  TensorHandle memory_, seen_;  // one memory, in the shape of the product and in that of the rest
};

void fused(const Fused& a, Inputs in, Outputs out) {
  if (a.body->nodes.size() > 1 && is_product(a.body->nodes[0])) {
    if (!FusedProduct(a, in, out).run()) replay(a, in, out);
    return;
  }
  if (!has_one_shape(*a.body, in, out)) return replay(a, in, out);
  FusedRun run(*a.body, in, out, false);
  run.compile(cpu_backend().kernels(), in) ? run.run() : replay(a, in, out);
}

}  // namespace

void register_fused(KernelTable& kernels) { kernels.add_for_all<fused>(op::fused); }

}  // namespace pyburn::cpu
