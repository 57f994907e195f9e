#include "pyburn/backends/cpu/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::cpu {
namespace {

[[noreturn]] void fail_with_errno(const char* what) {
  fail<OutOfMemoryError>("[share_memory_] {}: {}", what, std::string(std::strerror(errno)));
}

int anonymous_file() {
#ifdef __linux__
  return memfd_create("pyburn", MFD_CLOEXEC);
#else
  static std::atomic<int> count{0};
  const std::string name = format("/pyburn-{}-{}", int64_t(getpid()), int64_t(++count));
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor >= 0) shm_unlink(name.c_str());
  return descriptor;
#endif
}

// Segments are identified by their files: a tensor that comes back, or arrives twice, refers to the existing storage.
using FileKey = std::pair<dev_t, ino_t>;
FileKey key_of(const SharedSegment& segment) {
  struct stat s {};
  if (fstat(segment.descriptor(), &s) != 0) fail_with_errno("cannot read the size of the segment");
  return {s.st_dev, s.st_ino};
}

struct Segments {
  ForkSafeMutex mutex;
  std::map<FileKey, HostStorage*> storages;
};
Segments& segments() {
  static auto* s = new Segments;  // storages may die after statics do
  return *s;
}

class MappedStorage final : public HostStorage {
 public:
  MappedStorage(Backend* owner, std::unique_ptr<SharedSegment> segment) : HostStorage(owner, std::move(segment)) {}

 protected:
  void free_memory(void*) noexcept override {}
};

}  // namespace

SharedSegment::SharedSegment(int64_t bytes) : descriptor_(anonymous_file()), bytes_(bytes) {
  if (descriptor_ < 0) fail_with_errno("cannot create shared memory");
  if (ftruncate(descriptor_, std::max<int64_t>(bytes, 1)) != 0) {
    close(descriptor_);
    fail_with_errno("cannot resize shared memory");
  }
  map();
}

SharedSegment::SharedSegment(int descriptor) : descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  struct stat s {};
  if (descriptor_ < 0 || fstat(descriptor_, &s) != 0) fail_with_errno("the file descriptor does not belong to shared memory");
  bytes_ = s.st_size;
  map();
}

void SharedSegment::map() {
  data_ = mmap(nullptr, size_t(std::max<int64_t>(bytes_, 1)), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (data_ != MAP_FAILED) return;
  close(descriptor_);
  fail_with_errno("cannot map shared memory");
}

SharedSegment::~SharedSegment() {
  munmap(data_, size_t(std::max<int64_t>(bytes_, 1)));
  close(descriptor_);
}

HostStorage::HostStorage(Backend* owner, std::unique_ptr<SharedSegment> segment)
    : Storage(owner, segment->bytes(), segment->data()), segment_(std::move(segment)) {
  exposed = true;
}

HostStorage::~HostStorage() {
  if (!segment_) return;
  const std::lock_guard lock(segments().mutex);
  std::erase_if(segments().storages, [this](const auto& entry) { return entry.second == this; });
}

void HostStorage::share() {
  if (segment_) return;
  auto segment = std::make_unique<SharedSegment>(bytes);
  const FileKey key = key_of(*segment);
  if (bytes > 0) std::memcpy(segment->data(), host, size_t(bytes));
  if (exposed) kept_ = host;
  else free_memory(host);
  host = segment->data();
  exposed = true;  // by other processes
  segment_ = std::move(segment);
  const std::lock_guard lock(segments().mutex);
  segments().storages[key] = this;
}

void share_memory(Storage& storage) {
  auto* host = dynamic_cast<HostStorage*>(&storage);
  require<DeviceError>(
      host, "[share_memory_] only memory of the CPU can be shared with other processes: got a tensor on {}", storage.owner->name());
  host->share();
}

const SharedSegment* segment_of(const Storage& storage) {
  const auto* host = dynamic_cast<const HostStorage*>(&storage);
  return host ? host->segment() : nullptr;
}

Ref<Storage> map_shared_memory(int descriptor) {
  auto segment = std::make_unique<SharedSegment>(descriptor);
  const FileKey key = key_of(*segment);
  const std::lock_guard lock(segments().mutex);
  HostStorage*& known = segments().storages[key];
  if (known && known->try_retain()) return Ref<Storage>::adopt(known);
  Ref<MappedStorage> fresh(new MappedStorage(&cpu_backend(), std::move(segment)));
  known = fresh.get();
  return fresh;
}

}  // namespace pyburn::cpu
