// Shader: one dispatch, written as WGSL that names tensors and numbers.
//
//   Shader s(gpu);
//   s.input("x", x);
//   s.output("y", y);
//   s.number("slope", 0.1f);
//   s.run_each(y.numel(), "y_set(i, p.slope * x_get(i));");
//
// A tensor x of any dtype and layout gives these functions:
//   x_get(i), x_set(i, v)    element i in row-major order
//   x_load(e), x_store(e, v) the element e places behind the first one, for code that does its own strides: strides("x") gives p.x_stride0
//   ... x_at(i)                  the place of element i
// Values have the type that elements are computed in: f32 for all floats, i32 and u32 for integers of up to 32 bits, bool, and vec2<u32>
// (low word first) for 64 bits; see library.cpp for the functions of the latter. Elements of 8 and 16 bits share words: they are written
// with atomics, so any thread may write any element.
//
// Everything but numbers is structure: the text is the key of the pipeline.
#pragma once
#include "pyburn/backends/wgpu/gpu.h"

namespace pyburn::wgpu {

enum class Word : uint8_t { f32, i32, u32, boolean, i64, u64 };
Word word_of(DType);
const char* type_name(Word);  // "f32", "vec2<u32>"
inline bool is_wide(Word w) { return w == Word::i64 || w == Word::u64; }

// The storage of tensors on a GPU.
class GpuStorage final : public Storage {
 public:
  GpuStorage(Backend* owner, Gpu& gpu, int64_t bytes) : Storage(owner, bytes), gpu(gpu), buffer(gpu.take(bytes)) {}
  ~GpuStorage() override { gpu.give(buffer); }
  Gpu& gpu;
  Buffer buffer;
};
inline GpuStorage& storage_of(const TensorHandle& t) { return static_cast<GpuStorage&>(*t.storage()); }

class Shader {
 public:
  explicit Shader(Gpu& gpu) : gpu_(gpu) {}

  void input(const char* name, const TensorHandle& t) { tensor(name, t, false, false); }
  // Also name_load4(e): the four elements from place e on, where e is a multiple of 4. For tensors that fit: see fits_quads().
  void input_quads(const char* name, const TensorHandle& t) {
    tensor(name, t, false, false);
    uses_.back().quads = true;
  }
  static bool fits_quads(const TensorHandle& t) { return word_of(t.dtype()) == Word::f32 && t.layout().offset % 4 == 0; }
  void output(const char* name, const TensorHandle& t) { tensor(name, t, true, false); }
  // An output that several threads change: name_add(e, v), name_max(e, v), name_min(e, v) at place e, and the functions above.
  void shared_output(const char* name, const TensorHandle& t) { tensor(name, t, true, true); }
  void strides(const char* name, const TensorHandle&);
  // Run-time numbers: p.name. Wide ones are two words: p_wide(name).
  void number(const std::string& name, uint32_t v) { field(name, "u32", v); }
  void number(const std::string& name, int32_t v) { field(name, "i32", uint32_t(v)); }
  void number(const std::string& name, int64_t v);  // u32; ShapeError if it has more bits
  void number(const std::string& name, float v);
  void number(const std::string& name, Word type, const Scalar&);  // of the type that elements are computed in; see value_of()
  // WGSL for a number of that type.
  static std::string value_of(const std::string& name, Word type);
  void constant(const char* name, int64_t v);  // structure: `name`, an abstract integer
  void declare(std::string_view wgsl) { declarations_ += wgsl; }

  // Lets the code call report(p.name, value) with an i32: reading what depends on the outputs raises the message as an IndexError, or a
  // ValueError.
  void fault(const std::string& name, std::string_view op, const std::string& message, bool of_value = false);

  // `body` runs for each i below n.
  void run_each(int64_t n, std::string_view body);
  // `body` runs for each `group` below n with `lane` below size: workgroups with shared variables and barriers.
  void run_groups(int64_t n, int size, std::string_view body);

 private:
  struct Use {
    std::string name;
    DType dtype;
    int binding;
    bool written, shared;
    int rank;  // -1: contiguous
    bool quads = false;
  };
  void tensor(const char* name, const TensorHandle&, bool written, bool shared);
  void field(const std::string& name, const char* type, uint32_t bits);
  void run(int64_t blocks, int size, std::string_view body, std::string_view begin);
  std::string source(std::string_view main) const;
  std::string counted(int reads) const;
  bool holds_quads(int binding) const;

  Gpu& gpu_;
  SmallVector<Bound, 8> bound_;
  std::vector<Use> uses_;
  std::vector<bool> atomic_;
  int fault_binding_ = -1, read_binding_ = -1;
  uint64_t fault_slots_ = 0;
  std::string fields_, declarations_;
  std::vector<uint32_t> parameters_;
};

}  // namespace pyburn::wgpu
