#include "pyburn/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "pyburn/support/file_error.h"

namespace pyburn::io {

MappedFile::MappedFile(const std::filesystem::path& path) {
  auto fail_with = [&](const char* what, int code) { throw FileError(what, path.string(), code); };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_with("cannot open the file", errno);
  struct stat info;
  int code = ::fstat(descriptor, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : S_ISREG(info.st_mode) ? 0 : EINVAL;
  if (code == 0 && info.st_size > 0) {
    data_ = ::mmap(nullptr, size_t(info.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    if (data_ == MAP_FAILED) code = errno;
    else size_ = size_t(info.st_size);
  }
  ::close(descriptor);
  if (code != 0) fail_with("cannot read the file", code);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(data_, size_);
}

}  // namespace pyburn::io
