// Files and models from C++: PyTorch's files as values, options as JSON, names and adapters.
#include <gtest/gtest.h>

#include <cmath>

#include "pyburn/io/atomic_file.h"
#include "pyburn/io/bundle.h"
#include "pyburn/io/byte_sink.h"
#include "pyburn/io/checkpoint.h"
#include "pyburn/io/fields_json.h"
#include "pyburn/io/inflate.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/io/store.h"
#include "pyburn/nn/batch_norm.h"
#include "pyburn/nn/conv.h"
#include "pyburn/nn/linear.h"
#include "pyburn/nn/sequential.h"
#include "pyburn/nn/upsample.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;
namespace fs = std::filesystem;

namespace {

struct Store : testing::Test {
  Store() { start(); }
  ~Store() override { fs::remove_all(folder); }
  fs::path folder = [] {
    std::string name = (fs::temp_directory_path() / "pyburn_store_XXXXXX").string();
    return fs::path(mkdtemp(name.data()));
  }();
};

Ref<nn::Sequential> small_model() {
  return make_ref<nn::Sequential>(
      nn::NamedModules{{"fc", make_ref<nn::Linear>(3, 2)}, {"norm", make_ref<nn::BatchNorm2d>(nn::BatchNormConfig{2})}});
}

bool same(nn::Module& a, nn::Module& b) {
  const nn::NamedTensors x = a.state_dict(), y = b.state_dict();
  for (size_t i = 0; i < x.size(); ++i)
    if (host_bytes(x[i].second) != host_bytes(y[i].second)) return false;
  return x.size() == y.size();
}

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_F(Store, PassesModelsThroughEveryFormat) {
  const Ref<nn::Sequential> a = small_model();
  for (const char* name : {"a.safetensors", "a.pt", "a.npz", "a.pyburn"}) {
    const Ref<nn::Sequential> b = small_model();
    io::save_module(*a, folder / name);
    const io::LoadReport report = io::load_into(*b, folder / name);
    EXPECT_TRUE(report.complete()) << to_text(report);
    EXPECT_TRUE(same(*a, *b)) << name;
  }
}

TEST_F(Store, RenamesAndFiltersByRegex) {
  const Ref<nn::Sequential> a = small_model(), b = small_model();
  io::StoreOptions out;
  out.rename = io::rename_by_regex({{"^fc\\.", "head."}, {"(w)eight", "$1"}});
  io::save_module(*a, folder / "a.safetensors", out, {{"note", "text"}});
  const io::TensorFile file = io::open_tensors(folder / "a.safetensors");
  EXPECT_EQ(file.metadata.at("note"), "text");
  io::LoadOptions in;
  in.rename = io::rename_by_regex({{"^head\\.", "fc."}, {"\\.w$", ".weight"}});
  EXPECT_TRUE(io::load_into(*b, folder / "a.safetensors", in).complete());
  EXPECT_TRUE(same(*a, *b));
  in.keep = io::match_regex({"^fc", "mean$"});
  const io::LoadReport part = io::load_into(*b, folder / "a.safetensors", in);
  EXPECT_EQ(part.applied, (std::vector<std::string>{"fc.weight", "fc.bias", "norm.running_mean"}));
  EXPECT_NE(message_of<ValueError>([] { io::match_regex({"("}); }).find("invalid regular expression"), std::string::npos);
  const std::string long_name(5000, 'a');
  EXPECT_FALSE(io::match_regex({"a*b|(a|b)*"})(long_name));
  EXPECT_EQ(io::rename_by_regex({{"a", "b"}})(long_name), long_name);
}

TEST_F(Store, AFailedLoadChangesNothing) {
  const Ref<nn::Sequential> a = small_model(), b = small_model(), c = small_model();
  c->load_state_dict(b->state_dict());
  io::Snapshots tensors = io::module_snapshots(*a);
  tensors[0].meta.shape = Shape{7};
  const std::string text = message_of<ValueError>([&] { io::load_into(*b, tensors); });
  EXPECT_NE(text.find("fc.weight: shape mismatch: got (7,) in the file, (2, 3) in the model"), std::string::npos) << text;
  EXPECT_TRUE(same(*b, *c));
  tensors.erase(tensors.begin());
  EXPECT_NE(message_of<ValueError>([&] { io::load_into(*b, tensors); }).find("fc.weight (Linear)"), std::string::npos);
  io::LoadOptions lenient;
  lenient.strict = false;
  EXPECT_EQ(io::load_into(*b, tensors, lenient).missing.size(), 1u);
}

TEST_F(Store, AdaptersChain) {
  const Ref<nn::Sequential> a = small_model(), b = small_model();
  io::StoreOptions out;
  out.adapter = io::chain(io::half_precision(DType::bfloat16, {}), io::burn_layout());
  io::save_module(*a, folder / "burn.safetensors", out);
  for (const io::Snapshot& s : io::open_tensors(folder / "burn.safetensors").tensors) {
    if (s.name == "fc.weight") {
      EXPECT_EQ(s.meta, (Meta{Shape{3, 2}, DType::bfloat16}));
    }
    EXPECT_NE(s.name, "norm.weight");
  }
  io::LoadOptions in;
  in.adapter = io::burn_layout();
  EXPECT_TRUE(io::load_into(*b, folder / "burn.safetensors", in).complete());
  EXPECT_LT(read_number(max(abs(Tensor(a->state_dict()[0].second) - Tensor(b->state_dict()[0].second)))), 0.01);
  EXPECT_THROW(io::half_precision(DType::int8), DTypeError);
}

TEST_F(Store, PyTorchFilesAreValues) {
  io::Tree tree;
  tree.root = tree.make(io::Value::Kind::dict);
  const TensorHandle t = arange(6.0);
  io::Value* inner = tree.list({tree.tensor(t), tree.real(2.5), tree.none(), tree.boolean(true), tree.integer(-3)});
  tree.root->items = {
      tree.text("list"), inner, tree.text("again"), inner, tree.text("bytes"), tree.text("\xff\x01", io::Value::Kind::bytes)};
  io::atomic_write(folder / "x.pt", [&](io::AtomicFile& file) { io::write_checkpoint(*tree.root, file); });
  io::Checkpoint file(io::SharedBytes::of_file(folder / "x.pt"));
  file.load([](const TensorHandle& storage, const std::string& location) {
    EXPECT_EQ(location, "cpu");
    return storage;
  });
  const io::Value& list = file.root().at("list");
  EXPECT_EQ(&list, &file.root().at("again"));
  EXPECT_EQ(host_bytes(list.items[0]->tensor), host_bytes(t));
  EXPECT_EQ(list.items[1]->real, 2.5);
  EXPECT_EQ(list.items[4]->integer, -3);
  EXPECT_EQ(file.root().at("bytes").text, "\xff\x01");
  EXPECT_THROW(file.root().at("nothing"), ValueError);
  tree.root->items = {tree.text("set"), tree.list({}, io::Value::Kind::frozen_set)};
  io::MemorySink sink;
  EXPECT_THROW(io::write_checkpoint(*tree.root, sink), ValueError);
}

TEST_F(Store, OptionsAsJson) {
  nn::ConvConfig<2> c{3, 8, {3, 5}, {2, 2}};
  const std::string text = io::to_json(c);
  EXPECT_EQ(text.substr(0, 56), R"({"in_channels":3,"out_channels":8,"kernel_size":[3,5],"s)");
  EXPECT_EQ(io::from_json<nn::ConvConfig<2>>(text).fields(), c.fields());
  EXPECT_EQ(io::from_json<nn::ConvConfig<2>>(R"({"groups": 2})").groups, 2);
  const nn::ConvConfig<2> same{.padding = {{}, "same"}};
  EXPECT_EQ(io::from_json<nn::ConvConfig<2>>(io::to_json(same)).fields(), same.fields());
  EXPECT_EQ(io::from_json<nn::UpsampleFunction>(R"({"scale_factor": [2, 1.5]})").scale_factor, (Numbers{2, 1.5}));
  nn::BatchNormConfig b{4, std::numeric_limits<double>::infinity(), std::nullopt};
  EXPECT_EQ(io::from_json<nn::BatchNormConfig>(io::to_json(b)).fields(), b.fields());
  const std::pair<const char*, const char*> mistakes[] = {
      {R"({"group": 2})", "unknown field 'group'; did you mean 'groups'?"},
      {R"({"zzzzzzzzz": 2})", "unknown field 'zzzzzzzzz'"},
      {R"({"groups": 2.5})", "'groups' must be an integer: got 2.5"},
      {R"({"groups": 18446744073709551615})", "must be an integer"},
      {R"({"bias": 1})", "'bias' must be true or false: got 1"},
      {R"({"stride": 1})", "'stride' must be a list of integers: got 1"},
      {R"({"stride": ["a"]})", "'stride' must be an integer: got \"a\""},
      {"[]", "expected an object: got []"},
      {"{", "not valid JSON"},
  };
  for (const auto& [json, reason] : mistakes)
    EXPECT_NE(message_of<FormatError>([&text = json] { io::from_json<nn::ConvConfig<2>>(text); }).find(reason), std::string::npos) << json;
  EXPECT_NE(message_of<FormatError>([] { io::from_json<nn::BatchNormConfig>(R"({"momentum": "x"})"); }).find("must be a number"),
      std::string::npos);
}

enum class Mode { fast, exact };
constexpr std::array<std::string_view, 2> names_of(Mode) { return {"fast", "exact"}; }
enum class Level { low, high };
struct Inner {
  int64_t width = 1;
  double rate = 0.5;
  PB_FIELDS(width, rate)
  void check() const { require<ValueError>(width > 0, "width must be positive: got {}", width); }
};
struct Outer {
  Inner inner;
  std::vector<Inner> more;
  std::vector<std::string> names;
  std::vector<std::vector<int>> table;
  std::optional<int64_t> seed;
  std::optional<Inner> extra;
  Mode mode = Mode::fast;
  Level level = Level::low;
  DType dtype = DType::float32;
  TensorHandle weights;
  PB_FIELDS(inner, more, names, table, seed, extra, mode, level, dtype, weights)
};

TEST_F(Store, StructsInStructsAsJson) {
  Outer o{.inner = {.width = 3}, .more = {{.width = 4, .rate = INFINITY}}, .names = {"é", "\""}, .table = {{1, 2}, {}}, .seed = 7};
  o.mode = Mode::exact, o.level = Level::high;
  const std::string text = io::to_json(o);
  EXPECT_EQ(text,
      R"({"inner":{"width":3,"rate":0.5},"more":[{"width":4,"rate":"inf"}],"names":["é","\""],"table":[[1,2],[]],"seed":7,"extra":null,)"
      R"("mode":"exact","level":1,"dtype":"float32"})");
  const auto back = io::from_json<Outer>(text);
  EXPECT_EQ(io::to_json(back), text);
  EXPECT_TRUE(back.mode == Mode::exact && back.level == Level::high && back.names[1] == "\"" && !back.extra && back.table[0][1] == 2);
  const auto partly = io::from_json<Outer>(R"({"inner": {"rate": 2}, "extra": {}, "seed": null})");
  EXPECT_TRUE(partly.inner.width == 1 && partly.inner.rate == 2 && partly.extra->width == 1 && !partly.seed);
  const std::pair<const char*, const char*> mistakes[] = {
      {R"({"inner": {"width": "3"}})", "'inner.width' must be an integer: got \"3\""},
      {R"({"inner": {"widht": 3}})", "unknown field 'widht' in 'inner'; did you mean 'width'?"},
      {R"({"inner": 3})", "'inner' must be an object: got 3"},
      {R"({"more": [{}, {"rate": null}]})", "'more[1].rate' must be a number: got null"},
      {R"({"more": {}})", "'more' must be a list: got {}"},
      {R"({"table": [[1], [2, 9999999999]]})", "'table[1][1]' is out of range: got 9999999999"},
      {R"({"mode": "slow"})", "'mode' must be one of fast, exact: got \"slow\""},
      {R"({"seed": 1.5})", "'seed' must be an integer: got 1.5"},
      {R"({"weights": 1})", "unknown field 'weights'"},
  };
  for (const auto& [json, reason] : mistakes)
    EXPECT_NE(message_of<FormatError>([&text = json] { io::from_json<Outer>(text); }).find(reason), std::string::npos) << json;
  EXPECT_THROW(io::from_json<Outer>(R"({"more": [{"width": 0}]})"), ValueError);
}

TEST_F(Store, BundlesCarryOptionsAndSections) {
  io::atomic_write(folder / "x.pyburn", [&](io::AtomicFile& file) {
    io::BundleWriter writer(file);
    writer.config(io::to_json(nn::LinearConfig{5, 2}));
    writer.tensor(io::snapshot_of("w", ones({2, 5})));
    writer.section("graph", std::as_bytes(std::span("bytes", 5)));
    EXPECT_THROW(writer.tensor(io::snapshot_of("w", ones({1}))), ValueError);
    EXPECT_THROW(writer.config("{"), FormatError);
    writer.finish();
  });
  const io::BundleReader reader(io::SharedBytes::of_file(folder / "x.pyburn"));
  EXPECT_EQ(io::from_json<nn::LinearConfig>(reader.config()).in_features, 5);
  EXPECT_EQ(reader.section("graph").size(), 5u);
  EXPECT_THROW(reader.section("nothing"), ValueError);
  EXPECT_THROW(io::inflate({}, 10), FormatError);
}

// A mapped tensor lies in the file, and writing to it does not.
TEST_F(Store, MappedTensorsAreCopiedWhenWritten) {
  io::write_tensors({io::snapshot_of("x", full({1000}, 3.0))}, folder / "x.safetensors");
  const io::TensorFile file = io::open_tensors(folder / "x.safetensors", {.mmap = true});
  const TensorHandle a = file.tensors[0].load(device("cpu")), b = file.tensors[0].load(device("cpu"));
  EXPECT_EQ(a.data<float>(), b.data<float>());
  a.data<float>()[0] = 5;
  EXPECT_EQ(b.data<float>()[0], 5);
  EXPECT_EQ(io::load_safetensors(folder / "x.safetensors")[0].second.data<float>()[0], 3);
}

}  // namespace
