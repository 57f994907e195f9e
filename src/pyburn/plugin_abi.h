// A record of what a plugin was compiled with, as data that load_library reads from the file before running any of its code: the version,
// the layout of structs that plugins use, and the positions of virtual functions. It does not depend on NDEBUG or optimisation.
#pragma once
#include <cstddef>
#include <cstring>
#include <functional>
#include <tuple>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/decorators/remote/transport.h"
#include "pyburn/ir/grad_context.h"
#include "pyburn/nn/layer_registry.h"
#include "pyburn/runtime/decorator.h"
#include "pyburn/runtime/device.h"
#include "pyburn/version.h"

namespace pyburn::abi {

// Increment it when a function that plugins override or call changes its meaning or arguments without a change detected below.
inline constexpr uint64_t kInterface = 1;

constexpr uint64_t hash_of(std::initializer_list<uint64_t> numbers) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t n : numbers)
    for (int i = 0; i < 8; ++i, n >>= 8) hash = (hash ^ (n & 0xff)) * 0x100000001b3;
  return hash;
}
template <class... T>
constexpr uint64_t sizes_of() {
  return hash_of({sizeof(T)..., alignof(T)...});
}

// The standard library: other implementations, and its debug mode, have different classes. The compiler version is left out, because GCC
// and Clang versions differ even if the binary interface does not.
#ifdef _GLIBCXX_USE_CXX11_ABI
inline constexpr uint64_t kNewStrings = _GLIBCXX_USE_CXX11_ABI;
#else
inline constexpr uint64_t kNewStrings = 2;  // not GNU's library
#endif
inline constexpr uint64_t kStandardLibrary =
    sizes_of<std::string, std::vector<int>, std::function<void()>, std::optional<int64_t>, std::span<int>, std::exception_ptr>();

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // of classes with virtual functions: every compiler of this ABI defines it
inline constexpr uint64_t kLayout = hash_of({
    kInterface,
    kNewStrings,
    kStandardLibrary,
    // tensors
    sizes_of<DType, DTypeInfo, DTypeSet, Scalar, Shape, Dims, Layout, Meta, TensorHandle>(),
    sizes_of<Counted, Storage, TensorImpl, AutogradMeta, LateError>(),
    offsetof(Layout, shape),
    offsetof(Layout, strides),
    offsetof(Layout, offset),
    offsetof(Storage, owner),
    offsetof(Storage, bytes),
    offsetof(Storage, has_values),
    offsetof(Storage, host),
    offsetof(Storage, error),
    offsetof(Storage, exposed),
    offsetof(Storage, derived),
    offsetof(TensorImpl, dtype),
    offsetof(TensorImpl, flags),
    offsetof(TensorImpl, device),
    offsetof(TensorImpl, storage),
    offsetof(TensorImpl, layout),
    offsetof(TensorImpl, autograd),
    offsetof(TensorImpl, py),
    // operations
    sizes_of<AttrType, OpSpec, OpInfo, OpRef, FunctionInfo, OpTable, Kind, Cast, Autocast, Saves, Fusing, Tensors, MetaList, GradContext>(),
    offsetof(AttrType, size),
    offsetof(AttrType, align),
    offsetof(AttrType, construct),
    offsetof(AttrType, copy),
    offsetof(AttrType, destroy),
    offsetof(AttrType, equal),
    offsetof(AttrType, visit),
    offsetof(AttrType, edit),
    offsetof(OpSpec, schema),
    offsetof(OpSpec, doc),
    offsetof(OpSpec, kind),
    offsetof(OpSpec, cast),
    offsetof(OpSpec, autocast),
    offsetof(OpSpec, saves),
    offsetof(OpSpec, may_alias),
    offsetof(OpSpec, in_place),
    offsetof(OpSpec, changes_first),
    offsetof(OpSpec, key),
    offsetof(OpSpec, fusing),
    offsetof(OpSpec, multiply_adds),
    offsetof(OpSpec, no_grad),
    offsetof(OpSpec, torch),
    offsetof(OpSpec, example),
    offsetof(OpSpec, samples),
    offsetof(OpInfo, attrs),
    offsetof(OpInfo, scalar),
    offsetof(OpInfo, infer),
    offsetof(OpInfo, view),
    offsetof(OpInfo, grad),
    offsetof(OpInfo, decompose),
    offsetof(OpInfo, kernel),
    offsetof(OpInfo, serves),
    offsetof(OpInfo, index),
    // backends
    sizes_of<Backend, Decorator, KernelSupport, Capabilities, MemoryStatistics, HostArray, BackendEntry, cpu::CpuBackend, cpu::KernelTable,
        cpu::Tile>(),
    offsetof(Capabilities, host_memory),
    offsetof(Capabilities, values),
    offsetof(Capabilities, asynchronous),
    offsetof(Capabilities, byte_views),
    offsetof(Capabilities, channels_last),
    offsetof(Capabilities, dtypes),
    offsetof(BackendEntry, name),
    offsetof(BackendEntry, aliases),
    offsetof(BackendEntry, doc),
    offsetof(BackendEntry, decorator),
    offsetof(BackendEntry, make),
    offsetof(BackendEntry, unavailable),
    // transports and layers
    sizes_of<remote::Channel, remote::Transport, nn::Module, nn::Entry, nn::LayerText, nn::Placement, nn::AnyConfig, nn::LayerEntry>(),
});
#pragma GCC diagnostic pop

// A pointer to a virtual function holds its index in the table, not an address. beyond() comes after all functions of T.
template <class T>
struct Beyond : T {
  virtual void beyond();
};
inline constexpr std::tuple kVirtuals{&Backend::execute, &Backend::support, &Backend::supports_call, &Backend::prepare,
    &Backend::capabilities, &Backend::allocate, &Backend::upload, &Backend::download, &Backend::synchronize, &Backend::memory,
    &Backend::name, &Backend::inner, &Backend::sees_views, &Backend::owns_storage, &Backend::check_write, &Backend::forget_base,
    &remote::Channel::send, &remote::Channel::receive, &nn::Module::forward, &Beyond<Backend>::beyond, &Beyond<Decorator>::beyond,
    &Beyond<Storage>::beyond, &Beyond<remote::Channel>::beyond, &Beyond<nn::Module>::beyond, &Beyond<FieldVisitor>::beyond,
    &Beyond<FieldEditor>::beyond};

// The signatures of these functions and of a row's functions, as the compiler prints them. Compared if both were built by the same one.
template <class... T>
constexpr uint64_t spelling_of() {
  uint64_t hash = 0;
  for (const char* c = __PRETTY_FUNCTION__; *c; ++c) hash = hash_of({hash, uint64_t(*c)});
  return hash;
}
inline constexpr uint64_t kSignatures =
    spelling_of<decltype(kVirtuals), OpInfo::InferFn, OpInfo::ViewFn, OpInfo::GradFn, OpInfo::DecomposeFn, OpInfo::ServesFn,
        OpInfo::ScalarFn, decltype(AttrType::construct), decltype(AttrType::copy), decltype(AttrType::destroy), decltype(AttrType::equal),
        decltype(AttrType::visit), decltype(AttrType::edit), cpu::TileFn, cpu::KernelFn, decltype(BackendEntry::make),
        decltype(remote::Transport::connect), decltype(nn::LayerEntry::make), decltype(nn::LayerEntry::forward)>();
#ifdef __clang__
inline constexpr uint64_t kCompiler = uint64_t(__clang_major__) << 8 | 1;
#else
inline constexpr uint64_t kCompiler = uint64_t(__GNUC__) << 8;
#endif

}  // namespace pyburn::abi

namespace pyburn {

// Plain data without addresses. The first two members never move.
struct PluginRecord {
  char mark[16] = "pyburn plugin\x1a\r";  // identifies the record in the file
  char version[16] = {};
  uint64_t layout = abi::kLayout, compiler = abi::kCompiler, signatures = abi::kSignatures;
  decltype(abi::kVirtuals) virtuals = abi::kVirtuals;

  constexpr PluginRecord() {
    static_assert(sizeof kPyburnVersion <= sizeof version);
    for (size_t i = 0; i < sizeof kPyburnVersion; ++i) version[i] = kPyburnVersion[i];
  }
  // Before 1.0, every minor version has its own interface.
  bool has_version_of(const PluginRecord& o) const {
    const std::string_view own(version, strnlen(version, sizeof version)), other(o.version, strnlen(o.version, sizeof o.version));
    return own.substr(0, own.rfind('.')) == other.substr(0, other.rfind('.'));
  }
  bool fits(const PluginRecord& o) const {
    return has_version_of(o) && layout == o.layout && (compiler != o.compiler || signatures == o.signatures) &&
           std::memcmp(&virtuals, &o.virtuals, sizeof virtuals) == 0;
  }
};

}  // namespace pyburn
