// What a plugin was compiled against, as data that load_library reads from the file before it runs any of the plugin's code: the version,
// the layout of the structs that plugins touch, and the places of virtual functions. None of it depends on NDEBUG or on optimisation.
#pragma once
#include <cstddef>
#include <functional>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/decorators/remote/transport.h"
#include "pyburn/ir/grad_context.h"
#include "pyburn/nn/layer_registry.h"
#include "pyburn/runtime/decorator.h"
#include "pyburn/runtime/device.h"
#include "pyburn/version.h"

namespace pyburn::abi {

// Raise it when a function that plugins override or call changes its meaning or its arguments, and nothing below notices.
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

// The standard library: another one, or its debug mode, has other classes. The compiler's own number is left out, because the numbers of
// GCC and Clang, and of their versions, differ where the binary interface does not.
#ifdef _GLIBCXX_USE_CXX11_ABI
inline constexpr uint64_t kNewStrings = _GLIBCXX_USE_CXX11_ABI;
#else
inline constexpr uint64_t kNewStrings = 2;  // not GNU's library
#endif
inline constexpr uint64_t kStandardLibrary =
    sizes_of<std::string, std::vector<int>, std::function<void()>, std::optional<int64_t>, std::span<int>, std::exception_ptr>();

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // of classes with virtual functions: every compiler of this interface has it
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
    sizes_of<AttrType, OpSpec, OpInfo, OpRef, FunctionInfo, OpTable, Kind, Cast, Autocast, Saves, Tensors, MetaList, GradContext>(),
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

// A pointer to a virtual function holds its place in the table, and no address. The function below stands after all of T's.
template <class T>
struct Beyond : T {
  virtual void beyond();
};
template <class T>
using CountOf = void (Beyond<T>::*)();

struct VirtualPlaces {
  decltype(&Backend::execute) execute = &Backend::execute;
  decltype(&Backend::support) support = &Backend::support;
  decltype(&Backend::supports_call) supports_call = &Backend::supports_call;
  decltype(&Backend::capabilities) capabilities = &Backend::capabilities;
  decltype(&Backend::allocate) allocate = &Backend::allocate;
  decltype(&Backend::upload) upload = &Backend::upload;
  decltype(&Backend::download) download = &Backend::download;
  decltype(&Backend::synchronize) synchronize = &Backend::synchronize;
  decltype(&Backend::memory) memory = &Backend::memory;
  decltype(&Backend::name) name = &Backend::name;
  decltype(&Backend::inner) inner = &Backend::inner;
  decltype(&Backend::sees_views) sees_views = &Backend::sees_views;
  decltype(&Backend::owns_storage) owns_storage = &Backend::owns_storage;
  decltype(&Backend::check_write) check_write = &Backend::check_write;
  decltype(&Backend::forget_base) forget_base = &Backend::forget_base;
  decltype(&remote::Channel::send) send = &remote::Channel::send;
  decltype(&remote::Channel::receive) receive = &remote::Channel::receive;
  TensorHandle (nn::Module::*forward)(const TensorHandle&) = &nn::Module::forward;
  CountOf<Backend> of_backend = &Beyond<Backend>::beyond;
  CountOf<Decorator> of_decorator = &Beyond<Decorator>::beyond;
  CountOf<Storage> of_storage = &Beyond<Storage>::beyond;
  CountOf<remote::Channel> of_channel = &Beyond<remote::Channel>::beyond;
  CountOf<nn::Module> of_module = &Beyond<nn::Module>::beyond;
  CountOf<FieldVisitor> of_field_visitor = &Beyond<FieldVisitor>::beyond;
  CountOf<FieldEditor> of_field_editor = &Beyond<FieldEditor>::beyond;
};

}  // namespace pyburn::abi

namespace pyburn {

// Plain data without addresses. The first three members keep their places for good.
struct PluginRecord {
  char mark[16] = "pyburn plugin\x1a\r";  // by which the record is found in the file
  char version[16] = {};
  uint64_t layout = abi::kLayout;
  abi::VirtualPlaces virtuals;

  constexpr PluginRecord() {
    static_assert(sizeof kPyburnVersion <= sizeof version);
    for (size_t i = 0; i < sizeof kPyburnVersion; ++i) version[i] = kPyburnVersion[i];
  }
};

}  // namespace pyburn
