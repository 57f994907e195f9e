#include "pyburn/backends/wgpu/shader.h"

#include <algorithm>
#include <bit>

#include "pyburn/backends/wgpu/library.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {

Word word_of(DType t) {
  const DTypeInfo& info = dtype_info(t);
  switch (info.category) {
    case DTypeCategory::floating:
      return Word::f32;
    case DTypeCategory::signed_integer:
      return info.bits == 64 ? Word::i64 : Word::i32;
    case DTypeCategory::unsigned_integer:
      return info.bits == 64 ? Word::u64 : Word::u32;
    default:
      return Word::boolean;
  }
}

const char* type_name(Word w) {
  constexpr const char* names[] = {"f32", "i32", "u32", "bool", "vec2<u32>", "vec2<u32>"};
  return names[int(w)];
}

namespace {

// Shape and strides with adjacent dimensions joined where one stride serves both.
Layout joined(const Layout& l) {
  Layout out{{}, {}, l.offset};
  for (int i = 0; i < l.rank(); ++i) {
    if (l.shape[i] == 1) continue;
    if (const int last = out.rank() - 1; last >= 0 && out.strides[last] == Checked(l.strides[i]) * l.shape[i]) {
      out.shape[last] = Checked(out.shape[last]) * l.shape[i];
      out.strides[last] = l.strides[i];
    } else {
      out.shape.push_back(l.shape[i]);
      out.strides.push_back(l.strides[i]);
    }
  }
  return out;
}

uint32_t index_of(int64_t v) {
  require(v >= INT32_MIN && v <= int64_t(UINT32_MAX), "a GPU counts elements with 32 bits: got {}", v);
  return uint32_t(v);
}

// quads: the buffer is an array of vec4<u32>.
std::string accessors(const std::string& name, DType dtype, const std::string& buffer, bool atomic, bool written, int rank, bool quads,
    const std::string& begin) {
  const Word w = word_of(dtype);
  const std::string type = type_name(w), offset = "p." + name + "_offset";
  const auto word = [&](const std::string& i) {
    if (quads) return buffer + "[(" + i + ") / 4u][(" + i + ") % 4u]";
    return atomic ? "atomicLoad(&" + buffer + "[" + i + "])" : buffer + "[" + i + "]";
  };
  const int bits = dtype_info(dtype).bits;
  std::string out = "fn " + name + "_load(i: u32) -> " + type + " {\n" + begin + "  let e = " + offset + " + i;\n";
  if (bits == 64) {
    out += "  return vec2<u32>(" + word("2u * e") + ", " + word("2u * e + 1u") + ");\n}\n";
  } else if (bits == 32) {
    out += "  return bitcast<" + type + ">(" + word("e") + ");\n}\n";
  } else {
    out += bits == 16 ? "  let s = (e & 1u) * 16u;\n  let w = " + word("e >> 1u") + ";\n"
                      : "  let s = (e & 3u) * 8u;\n  let w = " + word("e >> 2u") + ";\n";
    const std::string width = std::to_string(bits) + "u";
    if (dtype == DType::float16) out += "  return f16_value(extractBits(w, s, 16u));\n}\n";
    else if (dtype == DType::bfloat16) out += "  return bitcast<f32>(extractBits(w, s, 16u) << 16u);\n}\n";
    else if (w == Word::boolean) out += "  return extractBits(w, s, 8u) != 0u;\n}\n";
    else if (w == Word::i32) out += "  return extractBits(bitcast<i32>(w), s, " + width + ");\n}\n";
    else out += "  return extractBits(w, s, " + width + ");\n}\n";
  }
  out += "fn " + name + "_at(i: u32) -> u32 {\n";
  if (rank < 0) {
    out += "  return i;\n}\n";
  } else if (rank == 0) {
    out += "  return 0u;\n}\n";
  } else {
    out += "  var r = i;\n  var o = 0u;\n";
    for (int d = rank - 1; d > 0; --d) {
      const std::string k = std::to_string(d);
      out += "  o += (r % p." + name + "_extent" + k + ") * p." + name + "_step" + k + ";\n  r = r / p." + name + "_extent" + k + ";\n";
    }
    out += "  return o + r * p." + name + "_step0;\n}\n";
  }
  out += "fn " + name + "_get(i: u32) -> " + type + " { return " + name + "_load(" + name + "_at(i)); }\n";
  if (!written) return out;
  const auto store = [&](const std::string& i, const std::string& v) {
    return atomic ? "  atomicStore(&" + buffer + "[" + i + "], " + v + ");\n" : "  " + buffer + "[" + i + "] = " + v + ";\n";
  };
  out += "fn " + name + "_store(i: u32, v: " + type + ") {\n  let e = " + offset + " + i;\n";
  if (bits == 64) {
    out += store("2u * e", "v.x") + store("2u * e + 1u", "v.y") + "}\n";
  } else if (bits == 32) {
    out += store("e", "bitcast<u32>(v)") + "}\n";
  } else {
    const std::string value = dtype == DType::float16    ? "f16_bits(v)"
                              : dtype == DType::bfloat16 ? "bf16_bits(v)"
                              : w == Word::boolean       ? "select(0u, 1u, v)"
                                                         : "bitcast<u32>(v)";
    // Only this thread changes these bits, so the difference to them is exact whatever happens to their neighbours.
    const std::string k = bits == 16 ? "e >> 1u" : "e >> 2u", s = bits == 16 ? "(e & 1u) * 16u" : "(e & 3u) * 8u";
    out += "  let s = " + s + ";\n  let mask = " + (bits == 16 ? "0xffffu" : "0xffu") + " << s;\n" + "  let old = " + word(k) +
           ";\n  atomicXor(&" + buffer + "[" + k + "], (old ^ (" + value + " << s)) & mask);\n}\n";
  }
  out += "fn " + name + "_set(i: u32, v: " + type + ") { " + name + "_store(" + name + "_at(i), v); }\n";
  return out;
}

std::string load4(const std::string& name, DType dtype, const std::string& buffer, bool atomic, bool quads, const std::string& count) {
  const bool is_word = dtype_info(dtype).bits == 32;
  const std::string begin = "fn " + name + "_load4(i: u32) -> vec4<f32> { ", first = "(p." + name + "_offset + i) / ";
  if (quads && is_word) return begin + count + "return bitcast<vec4<f32>>(" + buffer + "[" + first + "4u]); }\n";
  std::string elements;
  if (is_word || quads || atomic) {
    for (int k = 0; k < 4; ++k) elements += format("{}{}_load(i + {}u)", k ? ", " : "", name, k);
    return begin + "return vec4<f32>(" + elements + "); }\n";
  }
  for (const char* half : {"a", "b"})
    elements += format(dtype == DType::float16 ? "{}f16_value({} & 0xffffu), f16_value({} >> 16u)"
                                               : "{}bitcast<f32>({} << 16u), bitcast<f32>({} & 0xffff0000u)",
        elements.empty() ? "" : ", ", half, half);
  return begin + count + "let w = " + first + "2u; let a = " + buffer + "[w]; let b = " + buffer + "[w + 1u];\n  return vec4<f32>(" +
         elements + "); }\n";
}

}  // namespace

void Shader::tensor(const char* name, const TensorHandle& t, bool written, bool shared) {
  GpuStorage& storage = storage_of(t);
  int binding = 0;
  while (binding < int(bound_.size()) && bound_[binding].buffer != &storage.buffer) ++binding;
  if (binding == int(bound_.size())) {
    bound_.push_back({&storage.buffer, false});
    atomic_.push_back(false);
  }
  bound_[binding].written |= written;
  if (written && (shared || dtype_info(t.dtype()).bits < 32)) atomic_[size_t(binding)] = true;
  Use use{name, t.dtype(), binding, written, shared, -1};
  const std::string field_name(name);
  field(field_name + "_offset", "u32", index_of(t.layout().offset));
  if (!t.layout().is_contiguous()) {
    const Layout l = joined(t.layout());
    use.rank = l.rank();
    for (int d = 0; d < l.rank(); ++d) {
      if (d > 0) field(field_name + "_extent" + std::to_string(d), "u32", index_of(l.shape[d]));
      field(field_name + "_step" + std::to_string(d), "u32", index_of(l.strides[d]));
    }
  }
  uses_.push_back(std::move(use));
}

void Shader::strides(const char* name, const TensorHandle& t) {
  for (int d = 0; d < t.rank(); ++d) field(std::string(name) + "_stride" + std::to_string(d), "u32", index_of(t.strides()[d]));
}

void Shader::fault(const std::string& name, std::string_view op, const std::string& message, bool of_value) {
  IndexError error(message);
  error.prefix(op);
  const uint32_t slot = gpu_.fault_slot(error.what(), of_value);
  fault_slots_ |= uint64_t(1) << slot;
  number(name, slot);
  if (fault_binding_ >= 0) return;
  fault_binding_ = int(bound_.size());
  bound_.push_back({&gpu_.fault_buffer(), true});
  atomic_.push_back(true);
  const std::string buffer = format("buffer{}", fault_binding_);
  declare("fn report(slot: u32, value: i32) {\n  if (atomicExchange(&" + buffer + "[2u * slot], 1u) == 0u) { atomicStore(&" + buffer +
          "[2u * slot + 1u], bitcast<u32>(value)); }\n}\n");
}

void Shader::field(const std::string& name, const char* type, uint32_t bits) {
  fields_ += "  " + name + ": " + type + ",\n";
  parameters_.push_back(bits);
}
void Shader::number(const std::string& name, int64_t v) { field(name, "u32", index_of(v)); }
void Shader::number(const std::string& name, float v) { field(name, "f32", std::bit_cast<uint32_t>(v)); }
void Shader::number(const std::string& name, Word type, const Scalar& v) {
  switch (type) {
    case Word::f32:
      return number(name, v.to<float>());
    case Word::i32:
      return field(name, "i32", uint32_t(v.to_int()));
    case Word::u32:
      return field(name, "u32", uint32_t(v.to_int()));
    case Word::boolean:
      return field(name, "u32", v.to<bool>());
    default:
      field(name + "_low", "u32", uint32_t(uint64_t(v.to_int())));
      return field(name + "_high", "u32", uint32_t(uint64_t(v.to_int()) >> 32));
  }
}
std::string Shader::value_of(const std::string& name, Word type) {
  if (is_wide(type)) return "vec2<u32>(p." + name + "_low, p." + name + "_high)";
  return type == Word::boolean ? "(p." + name + " != 0u)" : "p." + name;
}
void Shader::constant(const char* name, int64_t v) { declarations_ += format("const {} = {};\n", name, v); }

// A component of a vector must not be written beside others, so a buffer that is written holds words.
bool Shader::holds_quads(int binding) const {
  if (bound_[binding].written) return false;
  return std::any_of(
      uses_.begin(), uses_.end(), [&](const Use& u) { return u.binding == binding && u.quads && dtype_info(u.dtype).bits == 32; });
}

std::string Shader::counted(int reads) const {
  return read_binding_ < 0 ? "" : format("  atomicAdd(&buffer{}[0], {}u);\n", read_binding_, reads);
}

std::string Shader::source(std::string_view main) const {
  std::string code = "struct Parameters {\n" + fields_ + "};\n@group(0) @binding(0) var<uniform> p: Parameters;\n";
  for (size_t k = 0; k < size_t(bound_.size()); ++k)
    code += format("@group(0) @binding({}) var<storage, {}> buffer{}: array<{}>;\n", k + 1,
        bound_[int64_t(k)].written ? "read_write" : "read", k,
        atomic_[k]            ? "atomic<u32>"
        : holds_quads(int(k)) ? "vec4<u32>"
                              : "u32");
  std::string body;
  for (const Use& u : uses_) {
    const std::string buffer = format("buffer{}", u.binding);
    body += accessors(u.name, u.dtype, buffer, atomic_[size_t(u.binding)], u.written, u.rank, holds_quads(u.binding), counted(1));
    if (u.quads) body += load4(u.name, u.dtype, buffer, atomic_[size_t(u.binding)], holds_quads(u.binding), counted(4));
    if (u.shared) body += shared_accessors(u.name, u.dtype, buffer);
  }
  body += declarations_;
  body += main;
  return code + library_for(body) + body;
}

void Shader::run(int64_t blocks, int size, std::string_view body, std::string_view begin) {
  if (blocks == 0) return;
  const int64_t most = gpu_.limits().maxComputeWorkgroupsPerDimension;
  const int64_t x = std::min(blocks, most), y = divide_up(blocks, x);
  require(y <= most, "a GPU counts elements with 32 bits: got {} blocks of work", blocks);
  number("grid_row", x);
  if (Buffer* counter = gpu_.read_counter()) {
    read_binding_ = int(bound_.size());
    bound_.push_back({counter, true});
    atomic_.push_back(true);
  }
  std::string main = format(
      "@compute @workgroup_size({})\nfn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n"
      "  let group = workgroup.y * p.grid_row + workgroup.x;\n",
      size);
  main += begin;
  main += body;
  main += "\n}\n";
  // The key holds all that source() reads.
  std::string key = main + declarations_ + fields_;
  for (const Use& u : uses_) key += format("{}:{}:{}:{}:{}:{}:{};", u.name, int(u.dtype), u.binding, u.written, u.shared, u.rank, u.quads);
  const std::span<const Bound> bound(bound_.data(), size_t(bound_.size()));
  const Pipeline& pipeline = gpu_.pipeline(key, bound, [&] { return source(main); });
  gpu_.dispatch(pipeline, bound, parameters_, uint32_t(x), uint32_t(y), fault_slots_);
}

void Shader::run_each(int64_t n, std::string_view body) {
  constexpr int kSize = 256;
  number("count", n);
  run(divide_up(n, kSize), kSize, body, "  let i = group * 256u + lane;\n  if (i >= p.count) { return; }\n  ");
}

void Shader::run_groups(int64_t n, int size, std::string_view body) {
  number("count", n);
  run(n, size, body, "  if (group >= p.count) { return; }\n  ");  // uniform: barriers may follow
}

}  // namespace pyburn::wgpu
