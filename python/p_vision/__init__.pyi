# The names of the package and where they are: read by type checkers, and by __init__.py, which loads a module when it is asked for.
from typing import Any

from . import activations as activations
from . import applications as applications
from .backend import backend as backend
from . import callbacks as callbacks
from . import config as config
from . import constraints as constraints
from . import datasets as datasets
from . import dtype_policies as dtype_policies
from . import initializers as initializers
from . import layers as layers
from . import losses as losses
from . import metrics as metrics
from . import mixed_precision as mixed_precision
from . import models as models
from . import ops as ops
from . import optimizers as optimizers
from . import preprocessing as preprocessing
from . import random as random
from . import regularizers as regularizers
from . import saving as saving
from .optimizers import schedules as schedules
from . import tree as tree
from . import utils as utils
from .layers.activation import ELU as ELU
from .layers.activation import LeakyReLU as LeakyReLU
from .layers.activation import PReLU as PReLU
from .layers.activation import ReLU as ReLU
from .layers.activation import Softmax as Softmax
from .callbacks import CSVLogger as CSVLogger
from .callbacks import BackupAndRestore as BackupAndRestore
from .callbacks import RemoteMonitor as RemoteMonitor
from .callbacks import SwapEMAWeights as SwapEMAWeights
from .callbacks import TensorBoard as TensorBoard
from .callbacks import Callback as Callback
from .callbacks import EarlyStopping as EarlyStopping
from .callbacks import History as History
from .callbacks import LambdaCallback as LambdaCallback
from .callbacks import LearningRateScheduler as LearningRateScheduler
from .callbacks import ModelCheckpoint as ModelCheckpoint
from .callbacks import ReduceLROnPlateau as ReduceLROnPlateau
from .callbacks import TerminateOnNaN as TerminateOnNaN
from .layers.convolution import Conv1D as Conv1D
from .layers.convolution import Conv2D as Conv2D
from .layers.convolution import Conv3D as Conv3D
from .layers.convolution import DepthwiseConv1D as DepthwiseConv1D
from .layers.convolution import DepthwiseConv2D as DepthwiseConv2D
from .layers.convolution import SeparableConv1D as SeparableConv1D
from .layers.convolution import SeparableConv2D as SeparableConv2D
from .layers.dense import Activation as Activation
from .layers.dense import Dense as Dense
from .layers.dense import Embedding as Embedding
from .layers.dense import Lambda as Lambda
from .layers.dense import Rescaling as Rescaling
from .dtype_policies import DTypePolicy as DTypePolicy
from .symbolic.drawing import BuiltLayer as BuiltLayer
from .symbolic.drawing import PlainLayer as PlainLayer
from .layers.dropout import Dropout as Dropout
from .layers.dropout import GaussianNoise as GaussianNoise
from .layers.dropout import SpatialDropout1D as SpatialDropout1D
from .layers.dropout import SpatialDropout2D as SpatialDropout2D
from .layers.dropout import SpatialDropout3D as SpatialDropout3D
from .initializers import Constant as Constant
from .initializers import GlorotNormal as GlorotNormal
from .initializers import GlorotUniform as GlorotUniform
from .initializers import HeNormal as HeNormal
from .initializers import HeUniform as HeUniform
from .initializers import Identity as Identity
from .initializers import Initializer as Initializer
from .initializers import LecunNormal as LecunNormal
from .initializers import LecunUniform as LecunUniform
from .initializers import Ones as Ones
from .initializers import Orthogonal as Orthogonal
from .initializers import RandomNormal as RandomNormal
from .initializers import RandomUniform as RandomUniform
from .initializers import TruncatedNormal as TruncatedNormal
from .initializers import VarianceScaling as VarianceScaling
from .initializers import Zeros as Zeros
from .input import Input as Input
from .input import InputLayer as InputLayer
from .input_spec import InputSpec as InputSpec
from .layer import Layer as Layer
from .losses import BinaryCrossentropy as BinaryCrossentropy
from .losses import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from .losses import CategoricalCrossentropy as CategoricalCrossentropy
from .losses import Huber as Huber
from .losses import Loss as Loss
from .losses import MeanAbsoluteError as MeanAbsoluteError
from .losses import MeanSquaredError as MeanSquaredError
from .losses import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from .layers.merging import Add as Add
from .layers.merging import Average as Average
from .layers.merging import Concatenate as Concatenate
from .layers.merging import Dot as Dot
from .layers.merging import Maximum as Maximum
from .layers.merging import Minimum as Minimum
from .layers.merging import Multiply as Multiply
from .layers.merging import Subtract as Subtract
from .metrics import AUC as AUC
from .metrics import Mean as Mean
from .metrics import MeanMetric as MeanMetric
from .metrics import Metric as Metric
from .metrics import Precision as Precision
from .metrics import Recall as Recall
from .metrics import RootMeanSquaredError as RootMeanSquaredError
from .model import Model as Model
from .model import as_model as as_model
from .layers.normalization import BatchNormalization as BatchNormalization
from .layers.normalization import GroupNormalization as GroupNormalization
from .layers.normalization import LayerNormalization as LayerNormalization
from .optimizers import SGD as SGD
from .optimizers import Adadelta as Adadelta
from .optimizers import Adagrad as Adagrad
from .optimizers import Adam as Adam
from .optimizers import AdamW as AdamW
from .optimizers import Adamax as Adamax
from .optimizers import Lion as Lion
from .optimizers import Nadam as Nadam
from .optimizers import Optimizer as Optimizer
from .optimizers import RMSprop as RMSprop
from .layers.pooling import AveragePooling1D as AveragePooling1D
from .layers.pooling import AveragePooling2D as AveragePooling2D
from .layers.pooling import AveragePooling3D as AveragePooling3D
from .layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from .layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from .layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from .layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from .layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from .layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from .layers.pooling import MaxPooling1D as MaxPooling1D
from .layers.pooling import MaxPooling2D as MaxPooling2D
from .layers.pooling import MaxPooling3D as MaxPooling3D
from .random_seed import set_random_seed as set_random_seed
from .layers.recurrent import GRU as GRU
from .layers.recurrent import LSTM as LSTM
from .layers.recurrent import Bidirectional as Bidirectional
from .layers.recurrent import SimpleRNN as SimpleRNN
from .layers.recurrent import TimeDistributed as TimeDistributed
from .regularizers import L1 as L1
from .regularizers import L1L2 as L1L2
from .regularizers import L2 as L2
from .saving import clone_model as clone_model
from .saving import load_model as load_model
from .saving import model_from_json as model_from_json
from .saving import save_model as save_model
from .optimizers.schedules import CosineDecay as CosineDecay
from .optimizers.schedules import ExponentialDecay as ExponentialDecay
from .optimizers.schedules import LearningRateSchedule as LearningRateSchedule
from .optimizers.schedules import PiecewiseConstantDecay as PiecewiseConstantDecay
from .optimizers.schedules import PolynomialDecay as PolynomialDecay
from .sequential import Sequential as Sequential
from .layers.shaping import Cropping1D as Cropping1D
from .layers.shaping import Cropping2D as Cropping2D
from .layers.shaping import Cropping3D as Cropping3D
from .layers.shaping import Flatten as Flatten
from .layers.shaping import Permute as Permute
from .layers.shaping import RepeatVector as RepeatVector
from .layers.shaping import Reshape as Reshape
from .layers.shaping import UpSampling1D as UpSampling1D
from .layers.shaping import UpSampling2D as UpSampling2D
from .layers.shaping import UpSampling3D as UpSampling3D
from .layers.shaping import ZeroPadding1D as ZeroPadding1D
from .layers.shaping import ZeroPadding2D as ZeroPadding2D
from .layers.shaping import ZeroPadding3D as ZeroPadding3D
from .layers.transposed_convolution import Conv1DTranspose as Conv1DTranspose
from .layers.transposed_convolution import Conv2DTranspose as Conv2DTranspose
from .layers.transposed_convolution import Conv3DTranspose as Conv3DTranspose
from .layers.attention import AdditiveAttention as AdditiveAttention
from .layers.attention import Attention as Attention
from .layers.attention import GroupQueryAttention as GroupQueryAttention
from .layers.attention import MultiHeadAttention as MultiHeadAttention
from .batches import PyDataset as PyDataset
from .constraints import Constraint as Constraint
from .constraints import MaxNorm as MaxNorm
from .constraints import MinMaxNorm as MinMaxNorm
from .constraints import NonNeg as NonNeg
from .constraints import UnitNorm as UnitNorm
from .layers.dense import Masking as Masking
from .layers.dropout import ActivityRegularization as ActivityRegularization
from .layers.dropout import AlphaDropout as AlphaDropout
from .layers.dropout import GaussianDropout as GaussianDropout
from .losses import CategoricalFocalCrossentropy as CategoricalFocalCrossentropy
from .losses import CategoricalHinge as CategoricalHinge
from .losses import CosineSimilarity as CosineSimilarity
from .losses import CTC as CTC
from .losses import CategoricalGeneralizedCrossEntropy as CategoricalGeneralizedCrossEntropy
from .losses import Circle as Circle
from .losses import Dice as Dice
from .losses import Hinge as Hinge
from .losses import KLDivergence as KLDivergence
from .losses import LogCosh as LogCosh
from .losses import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from .losses import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from .losses import Poisson as Poisson
from .losses import SquaredHinge as SquaredHinge
from .losses import Tversky as Tversky
from .metrics import BinaryAccuracy as BinaryAccuracy
from .metrics import BinaryIoU as BinaryIoU
from .metrics import CategoricalAccuracy as CategoricalAccuracy
from .metrics import F1Score as F1Score
from .metrics import FBetaScore as FBetaScore
from .metrics import IoU as IoU
from .metrics import MeanIoU as MeanIoU
from .metrics import R2Score as R2Score
from .metrics import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from .metrics import Sum as Sum
from .metrics import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from .symbolic.operation import Operation as Operation
from .layers.preprocessing import CenterCrop as CenterCrop
from .layers.preprocessing import Normalization as Normalization
from .layers.preprocessing import RandomBrightness as RandomBrightness
from .layers.preprocessing import RandomContrast as RandomContrast
from .layers.preprocessing import RandomCrop as RandomCrop
from .layers.preprocessing import RandomFlip as RandomFlip
from .layers.preprocessing import RandomRotation as RandomRotation
from .layers.preprocessing import RandomTranslation as RandomTranslation
from .layers.preprocessing import RandomZoom as RandomZoom
from .layers.preprocessing import Resizing as Resizing
from .layers.normalization import RMSNormalization as RMSNormalization
from .layers.normalization import UnitNormalization as UnitNormalization
from .optimizers.schedules import CosineDecayRestarts as CosineDecayRestarts
from .optimizers.schedules import InverseTimeDecay as InverseTimeDecay
from .symbolic.symbol import KerasTensor as KerasTensor
from .variables import Variable as Variable
from .layers.conv_lstm import ConvLSTM1D as ConvLSTM1D
from .layers.conv_lstm import ConvLSTM2D as ConvLSTM2D
from .layers.conv_lstm import ConvLSTM3D as ConvLSTM3D
from .layers.recurrent_cells import RNN as RNN
from .layers.recurrent_cells import GRUCell as GRUCell
from .layers.recurrent_cells import LSTMCell as LSTMCell
from .layers.recurrent_cells import SimpleRNNCell as SimpleRNNCell
from .layers.recurrent_cells import StackedRNNCells as StackedRNNCells
from .optimizers import Adafactor as Adafactor
from .optimizers import Ftrl as Ftrl
from .optimizers import Lamb as Lamb
from .optimizers import LossScaleOptimizer as LossScaleOptimizer
from .optimizers import Muon as Muon
from .regularizers import OrthogonalRegularizer as OrthogonalRegularizer
from .regularizers import Regularizer as Regularizer
from .layers.colour import AutoContrast as AutoContrast
from .layers.colour import RandomColorDegeneration as RandomColorDegeneration
from .layers.colour import RandomColorJitter as RandomColorJitter
from .layers.colour import RandomErasing as RandomErasing
from .layers.colour import RandomGaussianBlur as RandomGaussianBlur
from .layers.colour import RandomGrayscale as RandomGrayscale
from .layers.colour import RandomHue as RandomHue
from .layers.colour import RandomInvert as RandomInvert
from .layers.colour import RandomPosterization as RandomPosterization
from .layers.colour import RandomSaturation as RandomSaturation
from .layers.colour import RandomSharpness as RandomSharpness
from .layers.colour import Solarization as Solarization
from .layers.lookup import CategoryEncoding as CategoryEncoding
from .layers.lookup import Discretization as Discretization
from .layers.lookup import IntegerLookup as IntegerLookup
from .layers.lookup import StringLookup as StringLookup
from .layers.pooling import AdaptiveAveragePooling1D as AdaptiveAveragePooling1D
from .layers.pooling import AdaptiveAveragePooling2D as AdaptiveAveragePooling2D
from .layers.pooling import AdaptiveAveragePooling3D as AdaptiveAveragePooling3D
from .layers.pooling import AdaptiveMaxPooling1D as AdaptiveMaxPooling1D
from .layers.pooling import AdaptiveMaxPooling2D as AdaptiveMaxPooling2D
from .layers.pooling import AdaptiveMaxPooling3D as AdaptiveMaxPooling3D
from .layers.hashing import HashedCrossing as HashedCrossing
from .layers.hashing import Hashing as Hashing
from .layers.colour import Equalization as Equalization
from .layers.mixing import AugMix as AugMix
from .layers.mixing import CutMix as CutMix
from .layers.mixing import MixUp as MixUp
from .layers.mixing import RandAugment as RandAugment
from .layers.preprocessing import RandomShear as RandomShear
from .layers.text_vectorization import TextVectorization as TextVectorization
from .layers.wrapping import EinsumDense as EinsumDense
from .layers.wrapping import Pipeline as Pipeline
from .layers.wrapping import SpectralNormalization as SpectralNormalization
from .layers.wrapping import Wrapper as Wrapper

from .scopes import device as device
from .scopes import name_scope as name_scope
from .scopes import version as version

__all__: list[str]
__version__: str

def _places() -> dict[str, str]: ...

# The models of p_vision.models: a backend first, then torchvision's arguments by name.
def alexnet(backend: Any = None, **arguments: Any) -> Any: ...
def convnext_base(backend: Any = None, **arguments: Any) -> Any: ...
def convnext_large(backend: Any = None, **arguments: Any) -> Any: ...
def convnext_small(backend: Any = None, **arguments: Any) -> Any: ...
def convnext_tiny(backend: Any = None, **arguments: Any) -> Any: ...
def densenet121(backend: Any = None, **arguments: Any) -> Any: ...
def densenet161(backend: Any = None, **arguments: Any) -> Any: ...
def densenet169(backend: Any = None, **arguments: Any) -> Any: ...
def densenet201(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b0(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b1(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b2(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b3(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b4(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b5(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b6(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_b7(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_v2_l(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_v2_m(backend: Any = None, **arguments: Any) -> Any: ...
def efficientnet_v2_s(backend: Any = None, **arguments: Any) -> Any: ...
def googlenet(backend: Any = None, **arguments: Any) -> Any: ...
def inception_v3(backend: Any = None, **arguments: Any) -> Any: ...
def mobilenet_v2(backend: Any = None, **arguments: Any) -> Any: ...
def mobilenet_v3_large(backend: Any = None, **arguments: Any) -> Any: ...
def mobilenet_v3_small(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_x_16gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_x_1_6gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_x_32gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_x_3_2gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_x_400mf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_x_800mf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_x_8gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_128gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_16gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_1_6gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_32gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_3_2gf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_400mf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_800mf(backend: Any = None, **arguments: Any) -> Any: ...
def regnet_y_8gf(backend: Any = None, **arguments: Any) -> Any: ...
def resnet101(backend: Any = None, **arguments: Any) -> Any: ...
def resnet152(backend: Any = None, **arguments: Any) -> Any: ...
def resnet18(backend: Any = None, **arguments: Any) -> Any: ...
def resnet34(backend: Any = None, **arguments: Any) -> Any: ...
def resnet50(backend: Any = None, **arguments: Any) -> Any: ...
def resnext101_32x8d(backend: Any = None, **arguments: Any) -> Any: ...
def resnext101_64x4d(backend: Any = None, **arguments: Any) -> Any: ...
def resnext50_32x4d(backend: Any = None, **arguments: Any) -> Any: ...
def shufflenet_v2_x0_5(backend: Any = None, **arguments: Any) -> Any: ...
def shufflenet_v2_x1_0(backend: Any = None, **arguments: Any) -> Any: ...
def shufflenet_v2_x1_5(backend: Any = None, **arguments: Any) -> Any: ...
def shufflenet_v2_x2_0(backend: Any = None, **arguments: Any) -> Any: ...
def squeezenet1_0(backend: Any = None, **arguments: Any) -> Any: ...
def squeezenet1_1(backend: Any = None, **arguments: Any) -> Any: ...
def swin_b(backend: Any = None, **arguments: Any) -> Any: ...
def swin_s(backend: Any = None, **arguments: Any) -> Any: ...
def swin_t(backend: Any = None, **arguments: Any) -> Any: ...
def swin_v2_b(backend: Any = None, **arguments: Any) -> Any: ...
def swin_v2_s(backend: Any = None, **arguments: Any) -> Any: ...
def swin_v2_t(backend: Any = None, **arguments: Any) -> Any: ...
def unet(backend: Any = None, **arguments: Any) -> Any: ...
def vgg11(backend: Any = None, **arguments: Any) -> Any: ...
def vgg11_bn(backend: Any = None, **arguments: Any) -> Any: ...
def vgg13(backend: Any = None, **arguments: Any) -> Any: ...
def vgg13_bn(backend: Any = None, **arguments: Any) -> Any: ...
def vgg16(backend: Any = None, **arguments: Any) -> Any: ...
def vgg16_bn(backend: Any = None, **arguments: Any) -> Any: ...
def vgg19(backend: Any = None, **arguments: Any) -> Any: ...
def vgg19_bn(backend: Any = None, **arguments: Any) -> Any: ...
def vit_b_16(backend: Any = None, **arguments: Any) -> Any: ...
def vit_b_32(backend: Any = None, **arguments: Any) -> Any: ...
def vit_h_14(backend: Any = None, **arguments: Any) -> Any: ...
def vit_l_16(backend: Any = None, **arguments: Any) -> Any: ...
def vit_l_32(backend: Any = None, **arguments: Any) -> Any: ...
def wide_resnet101_2(backend: Any = None, **arguments: Any) -> Any: ...
def wide_resnet50_2(backend: Any = None, **arguments: Any) -> Any: ...
