# The names of the package and where they are: read by type checkers, and by __init__.py, which loads a module when it is asked for.
from typing import Any

from . import activations as activations
from . import backend as backend
from . import callbacks as callbacks
from . import config as config
from . import constraints as constraints
from . import datasets as datasets
from . import initializers as initializers
from . import layers as layers
from . import losses as losses
from . import metrics as metrics
from . import models as models
from . import ops as ops
from . import optimizers as optimizers
from . import preprocessing as preprocessing
from . import random as random
from . import regularizers as regularizers
from . import saving as saving
from . import schedules as schedules
from . import tree as tree
from . import utils as utils
from .activation_layers import ELU as ELU
from .activation_layers import LeakyReLU as LeakyReLU
from .activation_layers import PReLU as PReLU
from .activation_layers import ReLU as ReLU
from .activation_layers import Softmax as Softmax
from .callbacks import CSVLogger as CSVLogger
from .run_callbacks import BackupAndRestore as BackupAndRestore
from .run_callbacks import RemoteMonitor as RemoteMonitor
from .run_callbacks import SwapEMAWeights as SwapEMAWeights
from .run_callbacks import TensorBoard as TensorBoard
from .callbacks import Callback as Callback
from .callbacks import EarlyStopping as EarlyStopping
from .callbacks import History as History
from .callbacks import LambdaCallback as LambdaCallback
from .callbacks import LearningRateScheduler as LearningRateScheduler
from .callbacks import ModelCheckpoint as ModelCheckpoint
from .callbacks import ReduceLROnPlateau as ReduceLROnPlateau
from .callbacks import TerminateOnNaN as TerminateOnNaN
from .convolution import Conv1D as Conv1D
from .convolution import Conv2D as Conv2D
from .convolution import Conv3D as Conv3D
from .convolution import DepthwiseConv1D as DepthwiseConv1D
from .convolution import DepthwiseConv2D as DepthwiseConv2D
from .convolution import SeparableConv1D as SeparableConv1D
from .convolution import SeparableConv2D as SeparableConv2D
from .dense import Activation as Activation
from .dense import Dense as Dense
from .dense import Embedding as Embedding
from .dense import Lambda as Lambda
from .dense import Rescaling as Rescaling
from .drawing import BuiltLayer as BuiltLayer
from .drawing import PlainLayer as PlainLayer
from .dropout import Dropout as Dropout
from .dropout import GaussianNoise as GaussianNoise
from .dropout import SpatialDropout1D as SpatialDropout1D
from .dropout import SpatialDropout2D as SpatialDropout2D
from .dropout import SpatialDropout3D as SpatialDropout3D
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
from .layer import Layer as Layer
from .losses import BinaryCrossentropy as BinaryCrossentropy
from .losses import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from .losses import CategoricalCrossentropy as CategoricalCrossentropy
from .losses import Huber as Huber
from .losses import Loss as Loss
from .losses import MeanAbsoluteError as MeanAbsoluteError
from .losses import MeanSquaredError as MeanSquaredError
from .losses import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from .merging import Add as Add
from .merging import Average as Average
from .merging import Concatenate as Concatenate
from .merging import Dot as Dot
from .merging import Maximum as Maximum
from .merging import Minimum as Minimum
from .merging import Multiply as Multiply
from .merging import Subtract as Subtract
from .metrics import AUC as AUC
from .metrics import Mean as Mean
from .metrics import MeanMetric as MeanMetric
from .metrics import Metric as Metric
from .metrics import Precision as Precision
from .metrics import Recall as Recall
from .metrics import RootMeanSquaredError as RootMeanSquaredError
from .model import Model as Model
from .model import as_model as as_model
from .normalization import BatchNormalization as BatchNormalization
from .normalization import GroupNormalization as GroupNormalization
from .normalization import LayerNormalization as LayerNormalization
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
from .pooling import AveragePooling1D as AveragePooling1D
from .pooling import AveragePooling2D as AveragePooling2D
from .pooling import AveragePooling3D as AveragePooling3D
from .pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from .pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from .pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from .pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from .pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from .pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from .pooling import MaxPooling1D as MaxPooling1D
from .pooling import MaxPooling2D as MaxPooling2D
from .pooling import MaxPooling3D as MaxPooling3D
from .random_seed import set_random_seed as set_random_seed
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
from .recurrent import Bidirectional as Bidirectional
from .recurrent import SimpleRNN as SimpleRNN
from .recurrent import TimeDistributed as TimeDistributed
from .regularizers import L1 as L1
from .regularizers import L1L2 as L1L2
from .regularizers import L2 as L2
from .saving import clone_model as clone_model
from .saving import load_model as load_model
from .saving import model_from_json as model_from_json
from .saving import save_model as save_model
from .schedules import CosineDecay as CosineDecay
from .schedules import ExponentialDecay as ExponentialDecay
from .schedules import LearningRateSchedule as LearningRateSchedule
from .schedules import PiecewiseConstantDecay as PiecewiseConstantDecay
from .schedules import PolynomialDecay as PolynomialDecay
from .sequential import Sequential as Sequential
from .shaping import Cropping1D as Cropping1D
from .shaping import Cropping2D as Cropping2D
from .shaping import Cropping3D as Cropping3D
from .shaping import Flatten as Flatten
from .shaping import Permute as Permute
from .shaping import RepeatVector as RepeatVector
from .shaping import Reshape as Reshape
from .shaping import UpSampling1D as UpSampling1D
from .shaping import UpSampling2D as UpSampling2D
from .shaping import UpSampling3D as UpSampling3D
from .shaping import ZeroPadding1D as ZeroPadding1D
from .shaping import ZeroPadding2D as ZeroPadding2D
from .shaping import ZeroPadding3D as ZeroPadding3D
from .transposed_convolution import Conv1DTranspose as Conv1DTranspose
from .transposed_convolution import Conv2DTranspose as Conv2DTranspose
from .transposed_convolution import Conv3DTranspose as Conv3DTranspose
from .attention import AdditiveAttention as AdditiveAttention
from .attention import Attention as Attention
from .attention import MultiHeadAttention as MultiHeadAttention
from .batches import PyDataset as PyDataset
from .constraints import Constraint as Constraint
from .constraints import MaxNorm as MaxNorm
from .constraints import MinMaxNorm as MinMaxNorm
from .constraints import NonNeg as NonNeg
from .constraints import UnitNorm as UnitNorm
from .dense import Masking as Masking
from .dropout import ActivityRegularization as ActivityRegularization
from .dropout import AlphaDropout as AlphaDropout
from .dropout import GaussianDropout as GaussianDropout
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
from .operation import Operation as Operation
from .preprocessing import CenterCrop as CenterCrop
from .preprocessing import Normalization as Normalization
from .preprocessing import RandomBrightness as RandomBrightness
from .preprocessing import RandomContrast as RandomContrast
from .preprocessing import RandomCrop as RandomCrop
from .preprocessing import RandomFlip as RandomFlip
from .preprocessing import RandomRotation as RandomRotation
from .preprocessing import RandomTranslation as RandomTranslation
from .preprocessing import RandomZoom as RandomZoom
from .preprocessing import Resizing as Resizing
from .normalization import RMSNormalization as RMSNormalization
from .normalization import UnitNormalization as UnitNormalization
from .schedules import CosineDecayRestarts as CosineDecayRestarts
from .schedules import InverseTimeDecay as InverseTimeDecay
from .symbol import KerasTensor as KerasTensor
from .variables import Variable as Variable
from .conv_lstm import ConvLSTM1D as ConvLSTM1D
from .conv_lstm import ConvLSTM2D as ConvLSTM2D
from .conv_lstm import ConvLSTM3D as ConvLSTM3D
from .recurrent_cells import RNN as RNN
from .recurrent_cells import GRUCell as GRUCell
from .recurrent_cells import LSTMCell as LSTMCell
from .recurrent_cells import SimpleRNNCell as SimpleRNNCell
from .recurrent_cells import StackedRNNCells as StackedRNNCells
from .optimizers import Adafactor as Adafactor
from .optimizers import Ftrl as Ftrl
from .optimizers import Lamb as Lamb
from .optimizers import LossScaleOptimizer as LossScaleOptimizer
from .optimizers import Muon as Muon
from .regularizers import OrthogonalRegularizer as OrthogonalRegularizer
from .regularizers import Regularizer as Regularizer
from .colour_layers import AutoContrast as AutoContrast
from .colour_layers import RandomColorDegeneration as RandomColorDegeneration
from .colour_layers import RandomColorJitter as RandomColorJitter
from .colour_layers import RandomErasing as RandomErasing
from .colour_layers import RandomGaussianBlur as RandomGaussianBlur
from .colour_layers import RandomGrayscale as RandomGrayscale
from .colour_layers import RandomHue as RandomHue
from .colour_layers import RandomInvert as RandomInvert
from .colour_layers import RandomPosterization as RandomPosterization
from .colour_layers import RandomSaturation as RandomSaturation
from .colour_layers import RandomSharpness as RandomSharpness
from .colour_layers import Solarization as Solarization
from .lookup import CategoryEncoding as CategoryEncoding
from .lookup import Discretization as Discretization
from .lookup import IntegerLookup as IntegerLookup
from .lookup import StringLookup as StringLookup
from .pooling import AdaptiveAveragePooling1D as AdaptiveAveragePooling1D
from .pooling import AdaptiveAveragePooling2D as AdaptiveAveragePooling2D
from .pooling import AdaptiveAveragePooling3D as AdaptiveAveragePooling3D
from .pooling import AdaptiveMaxPooling1D as AdaptiveMaxPooling1D
from .pooling import AdaptiveMaxPooling2D as AdaptiveMaxPooling2D
from .pooling import AdaptiveMaxPooling3D as AdaptiveMaxPooling3D
from .preprocessing import RandomShear as RandomShear
from .text_vectorization import TextVectorization as TextVectorization
from .wrapping import EinsumDense as EinsumDense
from .wrapping import SpectralNormalization as SpectralNormalization
from .wrapping import Wrapper as Wrapper

__all__: list[str]

def _places() -> dict[str, str]: ...

# The models of p_vision.models: a backend first, then torchvision's arguments by name.
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
def mobilenet_v3_large(backend: Any = None, **arguments: Any) -> Any: ...
def mobilenet_v3_small(backend: Any = None, **arguments: Any) -> Any: ...
def resnet101(backend: Any = None, **arguments: Any) -> Any: ...
def resnet152(backend: Any = None, **arguments: Any) -> Any: ...
def resnet18(backend: Any = None, **arguments: Any) -> Any: ...
def resnet34(backend: Any = None, **arguments: Any) -> Any: ...
def resnet50(backend: Any = None, **arguments: Any) -> Any: ...
def resnext101_32x8d(backend: Any = None, **arguments: Any) -> Any: ...
def resnext101_64x4d(backend: Any = None, **arguments: Any) -> Any: ...
def resnext50_32x4d(backend: Any = None, **arguments: Any) -> Any: ...
def unet(backend: Any = None, **arguments: Any) -> Any: ...
def vit_b_16(backend: Any = None, **arguments: Any) -> Any: ...
def vit_b_32(backend: Any = None, **arguments: Any) -> Any: ...
def vit_h_14(backend: Any = None, **arguments: Any) -> Any: ...
def vit_l_16(backend: Any = None, **arguments: Any) -> Any: ...
def vit_l_32(backend: Any = None, **arguments: Any) -> Any: ...
def wide_resnet101_2(backend: Any = None, **arguments: Any) -> Any: ...
def wide_resnet50_2(backend: Any = None, **arguments: Any) -> Any: ...
