// The classes that PyTorch has between Module and its layers, for `isinstance(module, _BatchNorm)` and `class MyLoss(_Loss)`. What
// user-defined subclasses inherit from them is in python/pyburn/nn/modules/roots.py.
#include "layer_class.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

struct Group {
  const char *name, *base, *layers, *doc;
  PyTypeObject* type = nullptr;
};

Group groups[] = {
    {"pyburn.nn.modules.batchnorm._NormBase", "", "", "Base class of BatchNorm and InstanceNorm."},
    {"pyburn.nn.modules.batchnorm._BatchNorm", "_NormBase", "BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm",
        "Base class of batch normalization layers."},
    {"pyburn.nn.modules.instancenorm._InstanceNorm", "_NormBase", "InstanceNorm1d, InstanceNorm2d, InstanceNorm3d",
        "Base class of instance normalization layers."},
    {"pyburn.nn.modules.conv._ConvNd", "", "Conv1d, Conv2d, Conv3d", "Base class of convolutions."},
    {"pyburn.nn.modules.conv._ConvTransposeNd", "_ConvNd", "ConvTranspose1d, ConvTranspose2d, ConvTranspose3d",
        "Base class of transposed convolutions."},
    {"pyburn.nn.modules.dropout._DropoutNd", "", "Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout",
        "Base class of dropout layers."},
    {"pyburn.nn.modules.loss._Loss", "",
        "L1Loss, MSELoss, SmoothL1Loss, HuberLoss, LpLoss, KLDivLoss, PoissonNLLLoss, HingeEmbeddingLoss, SoftMarginLoss, GaussianNLLLoss, "
        "MarginRankingLoss, CosineEmbeddingLoss, TripletMarginLoss, BCEWithLogitsLoss, MultiLabelMarginLoss, CTCLoss, RNNTLoss",
        "Base class of losses."},
    {"pyburn.nn.modules.loss._WeightedLoss", "_Loss",
        "NLLLoss, NLLLoss2d, CrossEntropyLoss, BCELoss, MultiMarginLoss, MultiLabelSoftMarginLoss", "Base class of losses with weights."},
    {"pyburn.nn.modules.pooling._MaxPoolNd", "", "MaxPool1d, MaxPool2d, MaxPool3d", "Base class of max pooling layers."},
    {"pyburn.nn.modules.pooling._MaxUnpoolNd", "", "MaxUnpool1d, MaxUnpool2d, MaxUnpool3d", "Base class of max unpooling layers."},
    {"pyburn.nn.modules.pooling._AvgPoolNd", "", "AvgPool1d, AvgPool2d, AvgPool3d", "Base class of average pooling layers."},
    {"pyburn.nn.modules.pooling._LPPoolNd", "", "LPPool1d, LPPool2d, LPPool3d", "Base class of power-average pooling layers."},
    {"pyburn.nn.modules.pooling._AdaptiveAvgPoolNd", "", "AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d",
        "Base class of adaptive average pooling layers."},
    {"pyburn.nn.modules.pooling._AdaptiveMaxPoolNd", "", "AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d",
        "Base class of adaptive max pooling layers."},
    {"pyburn.nn.modules.rnn.RNNBase", "", "RNN, LSTM, GRU",
        "Base class of RNN, LSTM and GRU.\n\n>>> isinstance(pyburn.nn.GRU(3, 2), pyburn.nn.RNNBase)\nTrue"},
    {"pyburn.nn.modules.rnn.RNNCellBase", "", "RNNCell, LSTMCell, GRUCell", "Base class of RNNCell, LSTMCell and GRUCell."},
};

}  // namespace

void bind_layer_groups(nb::module_& m) {
  for (Group& group : groups) {
    PyTypeObject* base = *group.base ? reinterpret_cast<PyTypeObject*>(nb::object(m.attr(group.base)).ptr()) : module_type;
    group.type = group_module_classes(group.name, group.doc, base);
    m.attr(group.type->tp_name) = nb::handle(reinterpret_cast<PyObject*>(group.type));
  }
}

PyTypeObject* group_of(std::string_view layer) {
  for (const Group& group : groups)
    if (nn::lists(group.layers, layer)) return group.type;
  return module_type;
}

}  // namespace pyburn::python
