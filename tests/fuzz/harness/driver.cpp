// The main program of a fuzz target without libFuzzer: a seeded loop that calls libFuzzer's functions of the target, in forked children, so
// that it goes on after a crash. The input of a run follows from the seed and the number of the run.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "options.h"
#include "target.h"

using namespace pyburn;
using namespace pyburn::fuzz;
namespace fs = std::filesystem;

namespace {

constexpr const char* kHelp = R"(usage: TARGET [options] [FILE or FOLDER ...]
  FILE           run these inputs, and no others unless --runs is given
  --runs N       mutated inputs (10000 without files)
  --first N      the number of the first of them (0)
  --seed S       what they follow from (1)
  --seconds N    an input that takes longer, in processor time, is a finding (10)
  --megabytes N  address space of a process (4096; no limit with AddressSanitizer)
  --findings DIR where inputs that fail are written (.)
  --keep DIR     write every input, for a corpus
)";

struct Loop {
  int64_t runs = -1, first = 0, seconds = 10, megabytes = 4096;
  uint64_t seed = 1;
  std::string findings = ".", keep;
  std::vector<fs::path> files;
};

// Memory that parent and children share: it outlives a crash.
struct Shared {
  int64_t next, accepted, refused;
  size_t size;
  uint8_t input[kMostInputBytes];
};

Loop parse(int argc, char** argv) {
  Loop o;
  Options options(kHelp);
  options.add("--runs", o.runs), options.add("--first", o.first), options.add("--seed", o.seed), options.add("--seconds", o.seconds);
  options.add("--megabytes", o.megabytes), options.add("--findings", o.findings), options.add("--keep", o.keep);
  for (const fs::path path : options.parse(argc, argv)) {
    if (!fs::is_directory(path)) o.files.push_back(path);
    else
      for (const auto& entry : fs::directory_iterator(path)) o.files.push_back(entry.path());
  }
  std::sort(o.files.begin(), o.files.end());
  if (o.runs < 0) o.runs = o.files.empty() ? 10000 : 0;
  return o;
}

void limit_memory(int64_t megabytes) {
#ifndef __SANITIZE_ADDRESS__
  const rlimit limit{rlim_t(megabytes) << 20, rlim_t(megabytes) << 20};
  setrlimit(RLIMIT_AS, &limit);
#else
  (void)megabytes;
#endif
}

// Processor time, because other programs may slow this one down; and ten times as much for one that waits.
void limit_time(int64_t seconds) {
  const itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(unsigned(10 * seconds));
}

int64_t number_of(const Loop& o, int64_t k) { return k < int64_t(o.files.size()) ? -1 : o.first + k - int64_t(o.files.size()); }

void make_input(const Loop& o, int64_t k, Shared& shared) {
  if (k < int64_t(o.files.size())) {
    std::ifstream file(o.files[size_t(k)], std::ios::binary);
    file.read(reinterpret_cast<char*>(shared.input), kMostInputBytes);
    shared.size = size_t(file.gcount());
  } else {
    shared.size = LLVMFuzzerCustomMutator(shared.input, 0, kMostInputBytes, unsigned(o.seed * 1000003 + uint64_t(number_of(o, k))));
  }
}

std::string write_input(const Loop& o, const fs::path& folder, int64_t number, const Shared& shared) {
  const fs::path to = folder / (std::string(target.name) + "-" + std::to_string(o.seed) + "-" + std::to_string(number));
  std::ofstream(to, std::ios::binary).write(reinterpret_cast<const char*>(shared.input), std::streamsize(shared.size));
  return to.string();
}

[[noreturn]] void run_child(const Loop& o, int64_t end, Shared& shared) {
  limit_memory(o.megabytes);
  LLVMFuzzerInitialize(nullptr, nullptr);
  for (; shared.next < end; ++shared.next) {
    make_input(o, shared.next, shared);
    if (!o.keep.empty() && number_of(o, shared.next) >= 0) write_input(o, o.keep, number_of(o, shared.next), shared);
    limit_time(o.seconds);
    try {
      ++(LLVMFuzzerTestOneInput(shared.input, shared.size) == 0 ? shared.accepted : shared.refused);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", target.name, e.what());
      std::fflush(stderr);
      _exit(1);
    }
  }
  std::fflush(stdout);
  _exit(0);
}

std::string ending(int status) {
  if (!WIFSIGNALED(status)) return "failed";
  const int signal = WTERMSIG(status);
  return signal == SIGPROF || signal == SIGALRM ? "took too long" : strsignal(signal);
}

void report(const Loop& o, int status, const Shared& shared) {
  const int64_t number = number_of(o, shared.next);
  const std::string where = number < 0 ? o.files[size_t(shared.next)].string()
                                       : "--seed " + std::to_string(o.seed) + " --first " + std::to_string(number) +
                                             " --runs 1, written to " + write_input(o, o.findings, number, shared);
  std::fprintf(stderr, "%s: %s: %s\n", target.name, ending(status).c_str(), where.c_str());
}

int run(const Loop& o) {
  auto& shared = *static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const int64_t end = int64_t(o.files.size()) + o.runs;
  int64_t found = 0;
  while (shared.next < end) {
    const pid_t child = fork();
    require<ValueError>(child >= 0, "cannot fork: {}", std::strerror(errno));
    if (child == 0) run_child(o, end, shared);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    report(o, status, shared);
    ++found, ++shared.next;
  }
  std::printf("%s: %ld inputs, %ld accepted, %ld refused, %ld found\n", target.name, long(end), long(shared.accepted), long(shared.refused),
      long(found));
  // A target that accepts nothing, or everything, tests nothing.
  const bool lopsided = o.runs >= 1000 && (shared.accepted == 0 || shared.refused == 0);
  return found != 0 || lopsided;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", target.name, e.what());
    return 2;
  }
}
