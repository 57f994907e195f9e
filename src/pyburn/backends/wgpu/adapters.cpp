#include "pyburn/backends/wgpu/adapters.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "pyburn/support/error.h"
#include "pyburn/support/log.h"

namespace pyburn::wgpu {
namespace {

int rank_of(WGPUAdapterType type) {
  switch (type) {
    case WGPUAdapterType_DiscreteGPU:
      return 0;
    case WGPUAdapterType_IntegratedGPU:
      return 1;
    case WGPUAdapterType_CPU:
      return 3;
    default:
      return 2;
  }
}

Adapter described(WGPUAdapter handle) {
  const Native& n = native();
  Adapter a;
  a.handle = handle;
  n.AdapterGetLimits(handle, &a.limits);
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  n.AdapterGetInfo(handle, &info);
  a.name = text_of(info.device);
  a.driver = text_of(info.description);
  constexpr const char* kinds[] = {"discrete GPU", "integrated GPU", "unknown", "software"};
  a.type = info.adapterType;
  a.kind = kinds[rank_of(a.type)];
  a.api = info.backendType == WGPUBackendType_Vulkan  ? "Vulkan"
          : info.backendType == WGPUBackendType_Metal ? "Metal"
          : info.backendType == WGPUBackendType_D3D12 ? "D3D12"
                                                      : "other";
  n.AdapterInfoFreeMembers(info);
  return a;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c + 'a' - 'A');
  return out;
}

// What the library reports is kept out of the user's terminal: errors come back as exceptions.
void ignore_log(WGPULogLevel, WGPUStringView, void*) {}

}  // namespace

WGPUInstance instance() {
  static const WGPUInstance one = [] {
    const Native& n = native();
    n.SetLogCallback(ignore_log, nullptr);
    n.SetLogLevel(WGPULogLevel_Error);
    WGPUInstanceExtras extras{};
    extras.chain.sType = WGPUSType(WGPUSType_InstanceExtras);
    extras.backends = WGPUInstanceBackend_Vulkan | WGPUInstanceBackend_Metal | WGPUInstanceBackend_DX12;
    WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
    descriptor.nextInChain = &extras.chain;
    // Mesa's layer that chooses among devices asks the window system, and complains on the terminal of a machine without one.
    const bool headless = !std::getenv("XDG_RUNTIME_DIR") && !std::getenv("NODEVICE_SELECT");
    if (headless) setenv("NODEVICE_SELECT", "1", 0);
    const WGPUInstance made = n.CreateInstance(&descriptor);
    if (headless) unsetenv("NODEVICE_SELECT");
    require<DeviceError>(made, "[wgpu] wgpu-native could not be started");
    return made;
  }();
  return one;
}

const std::vector<Adapter>& adapters() {
  static const auto* all = [] {
    const Native& n = native();
    WGPUInstanceEnumerateAdapterOptions options{};
    options.backends = WGPUInstanceBackend_Vulkan | WGPUInstanceBackend_Metal | WGPUInstanceBackend_DX12;
    std::vector<WGPUAdapter> handles(n.InstanceEnumerateAdapters(instance(), &options, nullptr));
    handles.resize(std::min(handles.size(), n.InstanceEnumerateAdapters(instance(), &options, handles.data())));
    auto* found = new std::vector<Adapter>;
    for (WGPUAdapter handle : handles) found->push_back(described(handle));
    std::stable_sort(found->begin(), found->end(), [](const Adapter& a, const Adapter& b) { return rank_of(a.type) < rank_of(b.type); });
    return found;
  }();
  return *all;
}

const Adapter& find_adapter(std::string_view options) {
  const std::vector<Adapter>& all = adapters();
  require<DeviceError>(!all.empty(),
      "[wgpu] no adapter was found: install a Vulkan driver (for a GPU its maker's; for tests on Debian: apt install libvulkan1 "
      "mesa-vulkan-drivers)");
  if (options.empty()) return all[0];
  if (options == "low-power") {
    for (const Adapter& a : all)
      if (a.type == WGPUAdapterType_IntegratedGPU) return a;
    return all[0];
  }
  size_t index = 0;
  if (const auto [end, error] = std::from_chars(options.data(), options.data() + options.size(), index);
      error == std::errc() && end == options.data() + options.size() && index < all.size())
    return all[index];
  for (const Adapter& a : all)
    if (lower(a.name).find(lower(options)) != std::string::npos && options.find_first_not_of("0123456789") != options.npos) return a;
  std::string known;
  for (size_t i = 0; i < all.size(); ++i) known += format("{}{} ({})", i ? ", " : "", i, all[i].name);
  fail<DeviceError>("[wgpu] no such adapter: expected an index or a part of a name, one of {}; got '{}'", known, options);
}

bool has_hardware_adapter() {
#ifdef __linux__
  // A driver of a GPU, of WSL or of NVIDIA makes one of these files.
  std::error_code ignored;
  bool possible = std::filesystem::exists("/dev/dxg", ignored) || std::filesystem::exists("/dev/nvidia0", ignored);
  for (std::filesystem::directory_iterator it("/dev/dri", ignored), end; !ignored && it != end && !possible; it.increment(ignored))
    possible = it->path().filename().string().starts_with("renderD");
  if (!possible) return false;
#endif
  if (!reason_against_native().empty()) return false;
  const std::vector<Adapter>& all = adapters();
  return std::any_of(all.begin(), all.end(),
      [](const Adapter& a) { return a.type == WGPUAdapterType_DiscreteGPU || a.type == WGPUAdapterType_IntegratedGPU; });
}

}  // namespace pyburn::wgpu
