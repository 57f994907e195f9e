// What a training program uses, part by part, as docs/guides/cpp.md tells it: a model of one's own, groups, schedules, averages, mixed
// precision, files to go on from, configurations, graphs, and the parts that models are made with.
#include <cstdio>
#include <filesystem>

#include "pyburn/pyburn.h"

using namespace pyburn;

namespace {

class Tagger : public nn::Module {
 public:
  PB_MODULE(Tagger, embed, lstm, head)
  Tagger(int64_t words, int64_t tags) {
    embed = register_module("embed", make_ref<nn::Embedding>(nn::EmbeddingConfig{.num_embeddings = words, .embedding_dim = 16}));
    lstm = register_module(
        "lstm", make_ref<nn::LSTM>(nn::LSTMConfig{.input_size = 16, .hidden_size = 16, .batch_first = true, .bidirectional = true}));
    head = register_module("head", make_ref<nn::Linear>(32, tags));
  }
  TensorHandle forward(const TensorHandle& words) override { return head->call(nn::call(*lstm, embed->call(words)).output); }

 private:
  Ref<nn::Embedding> embed;
  Ref<nn::LSTM> lstm;
  Ref<nn::Linear> head;
};

// The tag of a word depends on the word and on the one before it.
struct Sentences {
  Tensor words, tags;
};
Sentences some_sentences() {
  const Tensor words = randint(0, 12, {32, 8});
  return {words, remainder(words + roll(words, {1}, Dims{1}), 4)};
}
Tensor error(nn::Module& model, const Sentences& s) { return cross_entropy(flatten(model(s.words), 0, 1), flatten(s.tags)); }

double train(nn::Module& model, const std::filesystem::path& folder) {
  const std::vector<TensorHandle> all = model.parameters(), first(all.begin(), all.begin() + 1), others(all.begin() + 1, all.end());
  optim::AdamW optimiser({{first, {.lr = 1e-2, .weight_decay = 0}}, {others, {.lr = 1e-2}}});
  const auto rate = optim::Schedule::linear(0.1, 1, 10) * optim::Schedule::cosine(3e-2, 1e-3, 150);
  optim::plot(rate, 150, folder / "rates.svg");  // without a file: on the terminal
  optim::AveragedModel average(model, 0.9);      // without a decay: the plain mean
  for (int step = 0; step < 150; ++step) {
    for (auto& group : optimiser.param_groups) group.options.lr = rate(step);
    optimiser.zero_grad();
    autograd::backward(error(model, some_sentences()));
    nn::clip_grad_norm_(model.parameters(), 1);
    optimiser.step();
    average.update_parameters(model);
  }

  io::save_module(model, folder / "tagger.pt");  // or .safetensors, .npz, .pyburn
  io::save_optimizer(optimiser, folder / "optimiser.pt");
  return read_number(error(average, some_sentences()));
}

double go_on(nn::Module& model, const std::filesystem::path& folder) {
  const io::LoadReport report = io::load_into(model, folder / "tagger.pt");
  std::printf("%s\n", io::to_text(report).c_str());
  const std::vector<TensorHandle> all = model.parameters(), first(all.begin(), all.begin() + 1), others(all.begin() + 1, all.end());
  optim::AdamW optimiser({{first, {}}, {others, {}}});
  io::load_optimizer(optimiser, folder / "optimiser.pt");

  optim::GradScaler scaler;
  optim::ReduceLROnPlateau plateau({.factor = 0.5, .patience = 5});
  for (int step = 0; step < 20; ++step) {
    optimiser.zero_grad();
    Tensor loss;
    {
      const AutocastScope lower({.enabled = true, .dtype = DType::bfloat16});
      loss = error(model, some_sentences());
    }
    autograd::backward(scaler.scale(loss));
    scaler.step(optimiser);
    scaler.update();
    plateau.step(optimiser, read_number(loss));
  }
  return read_number(error(model, some_sentences()));
}

// Every layer's options are a struct, and structs of options are JSON where files are to hold them.
bool configure() {
  const auto config =
      io::from_json<nn::TransformerConfig>(R"({"d_model": 16, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1})");
  const auto model = make_ref<nn::Transformer>(config);
  const Tensor y = model->forward(randn({5, 1, 16}), randn({3, 1, 16}));
  std::printf("%s\n%s\n", io::to_json(config).c_str(), to_text(*model).c_str());
  return y.shape() == Shape{3, 1, 16};
}

// Triangles and paths: how many neighbours a node has tells them apart.
bool learn_graphs() {
  const auto make = [](std::vector<int64_t> ends, int64_t label) {
    const int64_t edges = int64_t(ends.size()) / 2;
    const Tensor index = from_host(default_device(), {ends.data(), {Shape{2, edges}, DType::int64}});
    return nn::geometric::Data{ones({3, 1}), {index, {}}, full({1}, label, DType::int64)};
  };
  const auto batch =
      nn::geometric::Batch::from_data_list({make({0, 1, 2, 1, 2, 0, 1, 2, 0, 0, 1, 2}, 0), make({0, 1, 1, 2, 1, 0, 2, 1}, 1)});
  const auto conv = make_ref<nn::geometric::GINConv>(make_ref<nn::Linear>(1, 8));
  const auto head = make_ref<nn::Linear>(8, 2);
  std::vector<TensorHandle> parameters = conv->parameters();
  for (const TensorHandle& p : head->parameters()) parameters.push_back(p);
  optim::Adam optimiser(parameters, {.lr = 0.05});
  Tensor scores;
  for (int step = 0; step < 60; ++step) {
    scores = (*head)(nn::geometric::global_add_pool(relu(conv->forward(batch.x, batch.edges)), batch.batch));
    optimiser.zero_grad();
    autograd::backward(cross_entropy(scores, batch.y));
    optimiser.step();
  }
  return read_number(all(eq(argmax(scores, 1), batch.y))) == 1;
}

// Layers that find out their sizes, weights that are computed, functions that look on, and rates that a scheduler sets.
bool use_parts(const std::filesystem::path& folder) {
  const auto conv = make_ref<nn::LazyConv2d>(nn::ConvConfig<2>{.out_channels = 4, .kernel_size = {3}});
  const auto head = make_ref<nn::LazyLinear>(3);
  const auto model = nn::sequential(conv, make_ref<nn::LazyBatchNorm2d>(), make_ref<nn::ReLU>(), make_ref<nn::Flatten>(), head);
  double strongest = 0;
  nn::HookHandle handle = conv->hooks().register_forward_hook(
      [&](nn::Module&, const TensorHandle&, const TensorHandle& y) { strongest = read_number(amax(abs(detach(y)))); });
  const Tensor images = randn({8, 1, 6, 6}), labels = randint(0, 3, {8});
  (*model)(images);  // now all parameters have shapes
  handle.remove();
  const auto before = nn::deepcopy(*model);

  nn::parametrizations::weight_norm(*conv);
  nn::parametrizations::spectral_norm(*head);
  optim::SGD optimiser(model->parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::LRScheduler scheduler(optimiser, optim::OneCycleLR{.max_lr = 0.3, .total_steps = 40});
  double loss = 0;
  for (int step = 0; step < 40; ++step) {
    optimiser.zero_grad();
    const Tensor error = cross_entropy((*model)(images), labels);
    autograd::backward(error);
    optimiser.step();
    scheduler.step();
    loss = read_number(detach(error));
  }
  optim::update_bn(std::vector<TensorHandle>{images}, *model);
  io::save_module(*model, folder / "parts.safetensors");
  std::printf("%s\nloss %.4f\n", to_text(*model).c_str(), loss);
  return strongest > 0 && loss < 0.5 && loss < read_number(detach(cross_entropy((*before)(images), labels)));
}

int run(const std::filesystem::path& folder) {
  start();
  std::filesystem::create_directories(folder);
  default_generator().manual_seed(0);
  const auto model = make_ref<Tagger>(12, 4), again = make_ref<Tagger>(12, 4);
  const double trained = train(*model, folder), later = go_on(*again, folder);
  std::printf("loss %.4f, and %.4f after going on\n", trained, later);
  const bool good = trained < 0.3 && later < 0.3 && configure() && learn_graphs() && use_parts(folder);
  std::printf("%s\n", good ? "all went well" : "something is wrong");
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "tour-output");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
