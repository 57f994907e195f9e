#include "pyburn/backends/cpu/file_storage.h"

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/shared_memory.h"
#include "pyburn/support/file_pages.h"

namespace pyburn::cpu {
namespace {

class FileStorage final : public HostStorage {
 public:
  FileStorage(void* data, int64_t bytes, void* context, void (*release)(void*))
      : HostStorage(&cpu_backend(), bytes, data), context_(context), release_(release) {}
  ~FileStorage() override { release_(context_); }

 protected:
  void free_memory(void*) noexcept override {}  // it belongs to the mapping

 private:
  void* context_;
  void (*release_)(void*);
};

}  // namespace

Ref<Storage> wrap_file_memory(void* data, int64_t bytes, void* context, void (*release)(void* context)) {
  return Ref<Storage>(new FileStorage(data, bytes, context, release));
}

void release_file_pages(const TensorHandle& t) {
  const auto* storage = dynamic_cast<const FileStorage*>(t.storage());
  if (!storage || storage->writes() > 0 || storage->exposed) return;  // what was written is nowhere else
  pyburn::release_file_pages({static_cast<const std::byte*>(storage->host), size_t(storage->bytes)});
}

}  // namespace pyburn::cpu
