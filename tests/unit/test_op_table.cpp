// The table of operations: what it refuses, and readers while rows are added.
#include <atomic>
#include <deque>
#include <thread>

#include "device_fixture.h"
#include "pyburn/ir/schema.h"
#include "pyburn/ir/schema_attributes.h"
#include "pyburn/ir/wire.h"
#include "pyburn/runtime/run.h"

namespace pyburn::testing {
namespace {

Meta like_first(const NoAttrs&, Metas in) { return in[0]; }
TensorHandle itself(const NoAttrs&, Inputs in) { return *in[0]; }

OpInfo* row(std::string schema) {
  // Rows outlive everything; a place that is reachable at exit keeps them from counting as leaks.
  struct Kept {
    std::string schema;
    OpInfo row;
  };
  static auto* rows = new std::deque<Kept>;
  Kept& made = rows->emplace_back(Kept{std::move(schema), {}});
  made.row = define<NoAttrs, like_first, nullptr, itself>({.schema = made.schema.c_str(), .doc = "For a test."});
  return &made.row;
}

std::string refusal(std::string schema) {
  OpInfo* r = row(std::move(schema));
  return message_of<ValueError>([&] { OpTable::global().add({r}); });
}

TEST(OpTable, RefusesSchemasThatDoNotParse) {
  cpu();
  EXPECT_NE(refusal("bad").find("expected 'name(Type argument, ...) -> Tensor'"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x)").find("expected 'name"), std::string::npos);
  EXPECT_NE(refusal("2bad(Tensor x) -> Tensor").find("name of an operation"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensr x) -> Tensor").find("unknown type of an argument: got 'Tensr x'"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor) -> Tensor").find("has no name"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor 1x) -> Tensor").find("has no name"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x, int n=a) -> Tensor").find("the default of 'n' is not of type int"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x, int n=None) -> Tensor").find("not of type int"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x, int n=) -> Tensor").find("default is missing"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x, int n=1, float y) -> Tensor").find("without a default"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x, int x) -> Tensor").find("two arguments have the same name"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x, *) -> Tensor").find("one '*'"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x) -> int").find("after the arrow"), std::string::npos);
  EXPECT_NE(refusal("bad(Tensor x) -> (Tensor a, b)").find("'Tensor name'"), std::string::npos);
  std::string many = "bad(Tensor x0";
  for (int i = 1; i <= kMostParameters; ++i) many += ", int x" + std::to_string(i);
  EXPECT_NE(refusal(many + ") -> Tensor").find("more than 16 arguments"), std::string::npos);
  EXPECT_EQ(OpTable::global().find("bad"), nullptr);
}

TEST(OpTable, AcceptsTheSchemasOfAllOperations) {
  cpu();
  for (const OpInfo* info : OpTable::global().rows()) EXPECT_NO_THROW(check_schema(info->schema)) << info->schema;
}

TEST(OpTable, RefusesRowsWithoutRules) {
  cpu();
  OpInfo* r = row("incomplete(Tensor x) -> Tensor");
  r->decompose = nullptr;
  EXPECT_NE(message_of<ValueError>([&] { OpTable::global().add({r}); }).find("[incomplete] expected a gradient"), std::string::npos);
  r->no_grad = "piecewise constant";
  r->infer = nullptr;
  EXPECT_NE(message_of<ValueError>([&] { OpTable::global().add({r}); }).find("inference rule"), std::string::npos);
}

TEST(OpTable, RefusesNamesThatAreTaken) {
  cpu();
  EXPECT_NE(refusal("exp(Tensor x) -> Tensor").find("an operation with the name 'exp' already exists"), std::string::npos);
  OpInfo *first = row("twice_given(Tensor x) -> Tensor"), *second = row("twice_given(Tensor x) -> Tensor");
  EXPECT_NE(message_of<ValueError>([&] { OpTable::global().add({first, second}); }).find("'twice_given'"), std::string::npos);
  EXPECT_EQ(OpTable::global().find("twice_given"), nullptr) << "nothing is added when something is refused";
  EXPECT_NE(message_of<ValueError>([&] { OpTable::global().set(row("exp(Tensor x) -> Tensor")); }).find("in C++"), std::string::npos);
}

TEST(OpTable, IsBounded) {
  cpu();
  std::vector<OpInfo*> rows;
  for (size_t i = 0; i < OpTable::kMost; ++i) rows.push_back(row("one_of_many_" + std::to_string(i) + "(Tensor x) -> Tensor"));
  const size_t before = OpTable::global().rows().size();
  EXPECT_NE(message_of<ValueError>([&] { OpTable::global().add(rows); }).find("the table is full"), std::string::npos);
  EXPECT_EQ(OpTable::global().rows().size(), before);
}

TEST(OpTable, ARowMayBeReplacedAndGraphsKeepTheOldOne) {
  cpu();
  OpInfo *first = row("replaced(Tensor x) -> Tensor"), *second = row("replaced(Tensor x) -> Tensor");
  OpTable::global().set(first);
  const Operation kept(*first, AttrBox::fresh(*first->attrs));
  const size_t count = OpTable::global().rows().size();
  OpTable::global().set(second);
  EXPECT_EQ(OpTable::global().find("replaced"), second);
  EXPECT_EQ(OpTable::global().rows().size(), count);
  EXPECT_EQ(first->index, second->index);
  EXPECT_EQ(&kept.info(), first);
  const Tensor x = numbers(cpu(), {3});
  InputList in;
  in.add(x);
  for (const OpInfo* r : {first, second}) expect_same(call(*r, NoAttrs{}, in), x);
}

TEST(OpTable, CanBeReadWhileRowsAreAdded) {
  cpu();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([&] {
      const Tensor x = numbers(cpu(), {4});
      while (!done) {
        for (const OpInfo* info : OpTable::global().rows()) ASSERT_FALSE(info->name().empty());
        ASSERT_NE(OpTable::global().find("exp"), nullptr);
        exp(x);  // looks for its kernel
      }
    });
  for (int i = 0; i < 200; ++i) {
    OpInfo* r = row("added_meanwhile_" + std::to_string(i) + "(Tensor x) -> Tensor");
    OpTable::global().add({r});
    cpu::cpu_backend().kernels().add_tile(*r, DType::float32, {[](const void*, const void* const*, void*, int64_t) {}});
  }
  done = true;
  for (std::thread& t : readers) t.join();
}

TEST(SchemaAttributes, RoundTripWithEveryType) {
  cpu();
  static const SchemaAttrType type(  // the row stays in the table
      "f(Tensor x, int i, int? oi, float f, bool b, str s, str? os, int[] d, int[]? od, float[] n, float[]? on, DType t, Scalar c, "
      "Scalar? oc) -> Tensor");
  EXPECT_EQ(type.fields.size(), 13u);
  OpInfo* r = row("schema_attributes(Tensor x) -> Tensor");
  r->attrs = &type;
  OpTable::global().add({r});
  const Ref<AttrBox> blank = AttrBox::fresh(type);
  auto& a = *static_cast<SchemaAttributes*>(blank->get());
  a.values[0] = int64_t(-3);
  a.values[5] = std::string("text");
  a.values[6] = Dims{1, 2};
  a.values[9] = Numbers{0.5};
  a.values[12] = Scalar(2.5);
  const Operation op(*r, blank);
  EXPECT_EQ(to_text(op.ref()),
      "schema_attributes(i=-3, oi=None, f=0.0, b=False, s='', os='text', d=(1, 2), od=None, n=(), on=(0.5,), t=float32, c=0, oc=2.5)");
  OpNames names;
  WireWriter w(names);
  encode(w, op.ref());
  const Bytes bytes = w.take();
  OpNames read;
  WireReader reader(bytes, read);
  const Operation again = decode_operation(reader);
  reader.end();
  EXPECT_TRUE(again == op);
  EXPECT_EQ(hash(again.ref()), hash(op.ref()));
}

}  // namespace
}  // namespace pyburn::testing
