// Hostile graph files: loading gives a graph or a FormatError, and a graph that loads runs or raises an Error; never a crash, a hang or a
// huge allocation. Files are changed by structure (attributes, operations, value numbers, shapes, patches) or byte by byte, and always get
// a valid checksum. Deterministic: a seed always gives the same file. `graph_files_fuzz --help` tells the options.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <random>

#include "pyburn/inference/capture.h"
#include "pyburn/inference/graph_check.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/inference/session.h"
#include "pyburn/ir/schema.h"
#include "pyburn/pyburn.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"
#include "pyburn/support/error.h"

using namespace pyburn;

namespace {

constexpr const char* kHelp = R"(usage: graph_files_fuzz [options]
  --runs N       files (20000)
  --seed S       the seed of the first one; the next ones follow (1)
  --seconds N    a file that takes longer is an error (10)
)";

struct Options {
  int64_t runs = 20000, seconds = 10;
  uint64_t seed = 1;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") std::fputs(kHelp, stdout), std::exit(0);
    require<ValueError>(i + 1 < argc, "{} needs a value; see --help", name);
    const char* value = argv[++i];
    if (name == "--runs") o.runs = std::stoll(value);
    else if (name == "--seconds") o.seconds = std::stoll(value);
    else if (name == "--seed") o.seed = std::stoull(value);
    else fail<ValueError>("unknown option: got {}; see --help", name);
  }
  return o;
}

Tensor ones_of(const Shape& shape) {
  const std::vector<float> values(size_t(shape.numel()), 0.5f);
  return Tensor(from_host(default_device(), {const_cast<float*>(values.data()), {shape, DType::float32}}));
}

// Small programs that use views, writes, indices, reductions, products and a free extent.
std::vector<Ref<Graph>> good_graphs() {
  const auto of = [](Shape shape, CapturedFunction f) {
    return capture(default_device(), {{{shape, DType::float32}, "x"}}, f, {.simplify = false});
  };
  const Tensor w = ones_of({4, 4}), kernel = ones_of({2, 3, 3, 3});
  std::vector<Ref<Graph>> graphs;
  graphs.push_back(of({4, 4}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]);
    return {as_strided(x, {2, 2}, {4, 1}, 5) + narrow(x, 0, 1, 2).select(1, 0), cumsum(std::get<0>(sort(x, 1)), 0)};
  }));
  graphs.push_back(of({-1, 4}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]);
    return {softmax(matmul(relu(x), w), 1), mean(x), reshape(x, {-1})};
  }));
  graphs.push_back(of({2, 3, 6, 6}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]);
    return {flatten(max_pool2d(conv2d(x, kernel, {}, Dims{1}, Dims{1}), {2})), x.permute({0, 2, 3, 1}).unfold(1, 2, 2)};
  }));
  graphs.push_back(of({4, 4}, [=](const Tensors& in) -> Tensors {
    Tensor x = clone(Tensor(in[0]));
    x.select(0, 1).add_(1);
    const Tensor i = argmax(x, 1);
    return {x, gather(x, 1, unsqueeze(i, 1)), index_select(x, 0, i), cat({x, x}, 1)};
  }));
  return graphs;
}

class Mutation final : public FieldEditor {
 public:
  Mutation(uint64_t seed, const std::vector<Ref<Graph>>& seeds) : random_(seed), seeds_(seeds), rows_(OpTable::global().rows()) {}

  Bytes operator()() {
    const Ref<Graph> g = graph_from_bytes(graph_to_bytes(*seeds_[below(seeds_.size())]), default_device());  // a copy
    const uint64_t kind = below(8);
    for (uint64_t n = kind < 4 ? 1 : below(3); n > 0; --n) change(*g);
    if (kind < 6)
      for (uint64_t n = 1 + below(3); n > 0; --n) add_operation(*g);
    Bytes bytes = graph_to_bytes(*g);
    if (kind == 7) damage(bytes);
    return bytes;
  }

  void field(std::string_view, bool& v) override { v ^= often(); }
  void field(std::string_view, int64_t& v) override { v = often() ? number() : v; }
  void field(std::string_view, double& v) override { v = often() ? real() : v; }
  void field(std::string_view, std::string& v) override {
    if (often()) v = below(2) ? "reflect" : std::string(below(4), '\xff');
  }
  void field(std::string_view, DType& v) override { v = often() ? any_dtype() : v; }
  void field(std::string_view, Dims& v) override {
    if (below(3) == 0) v.resize(int64_t(below(5)));
    for (int64_t& d : v) d = often() ? number() : d;
  }
  void field(std::string_view, Scalar& v) override {
    if (often()) v = below(2) ? Scalar(number()) : Scalar(real());
  }
  void field(std::string_view name, std::optional<Scalar>& v) override {
    if (often()) v = Scalar(1);
    if (v) field(name, *v);
  }
  void field(std::string_view, Ref<Graph>& v) override { v = below(2) ? seeds_[0] : Ref<Graph>(); }
  void field(std::string_view, Numbers& v) override {
    for (double& d : v) d = often() ? real() : d;
  }
  bool optional(std::string_view, bool given) override { return given ^ often(); }

 private:
  uint64_t below(uint64_t n) { return n == 0 ? 0 : random_() % n; }
  bool often() { return below(2) == 0; }
  DType any_dtype() { return DType(below(all_dtypes().size())); }
  // Half of them fit a small tensor, so that many operations get past inference.
  int64_t number() {
    constexpr int64_t kLarge[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, int64_t(1) << 62, int64_t(1) << 61, int64_t(1) << 32, INT32_MAX,
        INT32_MIN, 65536, 1000, -1000, -(int64_t(1) << 62)};
    return below(4) ? int64_t(below(8)) - 2 : kLarge[below(std::size(kLarge))];
  }
  double real() {
    constexpr double kReals[] = {0, -0.0, 1, -1, 0.5, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN, 9.3e18};
    return kReals[below(std::size(kReals))];
  }
  template <class List>
  auto& any_of(List& list) {
    return list[decltype(list.size())(below(uint64_t(list.size())))];
  }

  void change(Graph& g) {
    GraphNode& node = any_of(g.nodes);
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        node.op = node.op.edited(*this);
        return;
      case 3:
        if (!node.in.empty()) any_of(node.in) = ValueId(below(g.values.size() + 2)) - 1;
        return;
      case 4:
        node.writes = !node.writes;
        return;
      case 5: {
        Meta& m = any_of(g.values);
        if (below(2)) m.dtype = any_dtype();
        else if (!m.shape.empty()) any_of(m.shape) = std::abs(number() % (int64_t(1) << 40));
        return;
      }
      case 6:
        g.updates.emplace_back(ValueId(below(g.values.size())), ValueId(below(g.values.size())));
        return;
      default:
        if (!g.free_axes.empty()) g.patches.push_back({int32_t(below(g.nodes.size())), int32_t(below(4)), number(), number()});
    }
  }

  // Any operation of the table, on values that are there, with any attributes. The results get the metas that inference states, as a
  // hostile writer would do; otherwise the file would be refused before its kernels run.
  void add_operation(Graph& g) {
    const OpInfo& info = *any_of(rows_);
    Operation op = Operation(info, AttrBox::fresh(*info.attrs)).edited(*this);
    GraphNode node{op, {}, {}, false};
    SchemaParameters parameters(info.schema);
    for (SchemaParameter p; parameters.next(p);)
      for (uint64_t n = !takes_tensors(p.type) ? 0 : p.type == ParameterType::tensors ? 1 + below(3) : 1; n > 0; --n)
        node.in.push_back(ValueId(below(g.values.size())));
    const int64_t results = result_count(info.schema);
    Tensors in, out;
    out.resize(results < 0 ? int64_t(1 + below(3)) : results);
    for (ValueId v : node.in)
      in.push_back(make_tensor(meta_, g.values[size_t(v)].dtype, contiguous_layout(g.values[size_t(v)].shape),
          meta_.leaf().allocate(g.values[size_t(v)].dtype, g.values[size_t(v)].shape.numel())));
    InputList list;
    for (const TensorHandle& t : in) list.add(t);
    try {
      dispatch(op.ref(), list, {out.data(), size_t(out.size())}, &meta_);
    } catch (const Error&) {
      if (below(8)) return;  // what cannot load is tried as well, but less often
    }
    for (const TensorHandle& t : out) node.out.push_back(g.add_value(t.defined() ? t.meta() : Meta{}));
    for (ValueId v : node.out) g.outputs.push_back(v);
    g.output_names.clear();
    g.nodes.push_back(std::move(node));
  }

  void damage(Bytes& bytes) {
    for (uint64_t n = 1 + below(4); n > 0; --n) bytes[32 + below(bytes.size() - 32)] = std::byte(below(256));
    seal_graph_bytes(bytes);
  }

  std::mt19937_64 random_;
  const std::vector<Ref<Graph>>& seeds_;
  std::vector<const OpInfo*> rows_;
  Device& meta_ = device("meta");
};

struct Shared {  // with the parent, which outlives a crash
  int64_t next, refused, failed, ran;
};

void try_file(const Bytes& bytes, Shared& counts) {
  Ref<Graph> graph;
  try {
    graph = graph_from_bytes(bytes, default_device());
  } catch (const FormatError&) {
    ++counts.refused;
    return;
  }
  Session session(graph, default_device());
  for (int64_t n : {3, 1, 0}) {
    Tensors in;
    for (ValueId v : graph->inputs) {
      Shape shape = graph->values[size_t(v)].shape;
      for (const auto& [input, axis] : graph->free_axes)
        if (graph->inputs[size_t(input)] == v) shape[axis] = n;
      in.push_back(ones_of(shape));
    }
    try {
      session.run(in);
      ++counts.ran;
    } catch (const Error&) {  // a kernel may refuse values; a file may ask for more memory than there is
      ++counts.failed;
    }
    if (graph->free_axes.empty()) break;
  }
}

// In a child, so that the fuzzer goes on behind a crash.
void run_range(const Options& o, Shared& shared) {
  // Files that ask for billions of elements run out of memory, instead of filling it for seconds.
  const rlimit limit{rlim_t(2) << 30, rlim_t(2) << 30};
#ifndef __SANITIZE_ADDRESS__
  setrlimit(RLIMIT_AS, &limit);
#endif
  start();
  const std::vector<Ref<Graph>> graphs = good_graphs();
  while (shared.next < o.runs) {
    alarm(unsigned(o.seconds));
    Mutation mutation((o.seed + uint64_t(shared.next)) * 0x9e3779b97f4a7c15u, graphs);
    try {
      try_file(mutation(), shared);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "seed %lu: not a FormatError: %s\n", (unsigned long)(o.seed + uint64_t(shared.next)), e.what());
      _exit(1);
    }
    ++shared.next;
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options o = parse(argc, argv);
    auto& shared = *static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    shared = {};
    int64_t found = 0;
    while (shared.next < o.runs) {
      const pid_t child = fork();
      if (child == 0) run_range(o, shared);
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
      const char* what = !WIFSIGNALED(status)          ? "wrong exception"
                         : WTERMSIG(status) == SIGALRM ? "took too long"
                                                       : strsignal(WTERMSIG(status));
      std::fprintf(stderr, "seed %lu: %s\n", (unsigned long)(o.seed + uint64_t(shared.next)), what);
      ++found;
      ++shared.next;
    }
    std::printf("graph files %ld: refused %ld, runs that raised %ld, runs %ld; found %ld\n", long(o.runs), long(shared.refused),
        long(shared.failed), long(shared.ran), long(found));
    return found != 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "graph_files_fuzz: %s\n", e.what());
    return 2;
  }
}
