#include "pyburn/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "pyburn/support/file_error.h"

namespace pyburn::io {
namespace {

namespace fs = std::filesystem;

// A link keeps pointing where it points: what it names is replaced.
fs::path real_target(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  fs::path target = fs::weakly_canonical(path, error);
  if (error) throw FileError("cannot resolve the symbolic link", path.string(), error.value());
  return target;
}

fs::path temporary_name(const fs::path& path) {
  static std::atomic<uint64_t> count{0};
  return path.parent_path() / ("." + path.filename().string() + "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp");
}

// The rename itself must survive a loss of power.
void synchronise_folder(const fs::path& folder) {
  const int d = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d < 0) return;  // a folder that may be written but not read: the data itself is on disk
  ::fsync(d);
  ::close(d);
}

}  // namespace

void AtomicFile::fail_with(const char* what, int code) const { throw FileError(what, path_.string(), code); }

AtomicFile::AtomicFile(const fs::path& path) : path_(real_target(path)), temporary_(temporary_name(path_)) {
  struct stat old;
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {  // a device or a pipe is written to: a file in its place would break it
    temporary_.clear();
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_with("cannot open the file", errno);
    return;
  }
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_with("cannot create the file", errno);
  if (exists) ::fchmod(descriptor_, old.st_mode & 07777);  // a replaced file keeps its permissions
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with("cannot write", errno);
    bytes = bytes.subspan(size_t(n));
  }
}

void AtomicFile::commit() {
  if (temporary_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_with("cannot write", errno);
    return;
  }
  if (::fsync(descriptor_) != 0) fail_with("cannot write", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with("cannot replace the file", errno);
  ::close(descriptor_);
  descriptor_ = -1;
  synchronise_folder(path_.parent_path());
}

void atomic_write(const fs::path& path, const std::function<void(AtomicFile&)>& fill) {
  AtomicFile file(path);
  fill(file);
  file.commit();
}

}  // namespace pyburn::io
