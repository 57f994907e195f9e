# The functions of pyburn.nn.functional, listed once: functional.py takes those that it does not define from the modules named here.
from .. import _core
from .._types import Number, Tensor
from .._core import adaptive_avg_pool1d as adaptive_avg_pool1d
from .._core import affine_grid as affine_grid
from .._core import alpha_dropout as alpha_dropout
from .._core import avg_pool1d as avg_pool1d
from .._core import avg_pool2d as avg_pool2d
from .._core import avg_pool3d as avg_pool3d
from .._core import batch_norm as batch_norm
from .._core import bilinear as bilinear
from .._core import binary_cross_entropy as binary_cross_entropy
from .._core import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .._core import channel_shuffle as channel_shuffle
from .._core import conv1d as conv1d
from .._core import conv2d as conv2d
from .._core import conv3d as conv3d
from .._core import conv_transpose1d as conv_transpose1d
from .._core import conv_transpose2d as conv_transpose2d
from .._core import conv_transpose3d as conv_transpose3d
from .._core import cosine_embedding_loss as cosine_embedding_loss
from .._core import cosine_similarity as cosine_similarity
from .._core import cross_entropy as cross_entropy
from .._core import ctc_loss as ctc_loss
from .._core import dropout as dropout
from .._core import dropout1d as dropout1d
from .._core import dropout2d as dropout2d
from .._core import dropout3d as dropout3d
from .._core import embedding as embedding
from .._core import embedding_bag as embedding_bag
from .._core import feature_alpha_dropout as feature_alpha_dropout
from .._core import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from .._core import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
from .._core import gelu as gelu
from .._core import glu as glu
from .._core import grid_sample as grid_sample
from .._core import group_norm as group_norm
from .._core import gumbel_softmax as gumbel_softmax
from .._core import hardshrink as hardshrink
from .._core import hinge_embedding_loss as hinge_embedding_loss
from .._core import huber_loss as huber_loss
from .._core import instance_norm as instance_norm
from .._core import interpolate as interpolate
from .._core import kl_div as kl_div
from .._core import l1_loss as l1_loss
from .._core import layer_norm as layer_norm
from .._core import linear as linear
from .._core import local_response_norm as local_response_norm
from .._core import log_softmax as log_softmax
from .._core import logsigmoid as logsigmoid
from .._core import lp_pool1d as lp_pool1d
from .._core import lp_pool2d as lp_pool2d
from .._core import lp_pool3d as lp_pool3d
from .._core import margin_ranking_loss as margin_ranking_loss
from .._core import max_unpool1d as max_unpool1d
from .._core import max_unpool2d as max_unpool2d
from .._core import max_unpool3d as max_unpool3d
from .._core import mse_loss as mse_loss
from .._core import multi_margin_loss as multi_margin_loss
from .._core import multilabel_margin_loss as multilabel_margin_loss
from .._core import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from .._core import nll_loss as nll_loss
from .._core import normalize as normalize
from .._core import one_hot as one_hot
from .._core import pad as pad
from .._core import pairwise_distance as pairwise_distance
from .._core import pdist as pdist
from .._core import pixel_shuffle as pixel_shuffle
from .._core import pixel_unshuffle as pixel_unshuffle
from .._core import poisson_nll_loss as poisson_nll_loss
from .._core import prelu as prelu
from .._core import rms_norm as rms_norm
from .._core import scaled_dot_product_attention as scaled_dot_product_attention
from .._core import sigmoid as sigmoid
from .._core import smooth_l1_loss as smooth_l1_loss
from .._core import soft_margin_loss as soft_margin_loss
from .._core import softmax as softmax
from .._core import softmin as softmin
from .._core import softplus as softplus
from .._core import softshrink as softshrink
from .._core import softsign as softsign
from .._core import tanh as tanh
from .._core import tanhshrink as tanhshrink
from .._core import triplet_margin_loss as triplet_margin_loss
from .attention import multi_head_attention_forward as multi_head_attention_forward
from .conv import deform_conv2d as deform_conv2d
from .linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from .loss_functions import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from .pool_functions import adaptive_avg_pool2d as adaptive_avg_pool2d
from .pool_functions import adaptive_avg_pool3d as adaptive_avg_pool3d
from .pool_functions import adaptive_max_pool1d as adaptive_max_pool1d
from .pool_functions import adaptive_max_pool2d as adaptive_max_pool2d
from .pool_functions import adaptive_max_pool3d as adaptive_max_pool3d
from .pool_functions import fractional_max_pool2d as fractional_max_pool2d
from .pool_functions import fractional_max_pool3d as fractional_max_pool3d
from .pool_functions import max_pool1d as max_pool1d
from .pool_functions import max_pool1d_with_indices as max_pool1d_with_indices
from .pool_functions import max_pool2d as max_pool2d
from .pool_functions import max_pool2d_with_indices as max_pool2d_with_indices
from .pool_functions import max_pool3d as max_pool3d
from .pool_functions import max_pool3d_with_indices as max_pool3d_with_indices
from .upsampling import upsample as upsample
from .upsampling import upsample_bilinear as upsample_bilinear
from .upsampling import upsample_nearest as upsample_nearest

adaptive_max_pool1d_with_indices = _core.adaptive_max_pool1d
adaptive_max_pool2d_with_indices = _core.adaptive_max_pool2d
adaptive_max_pool3d_with_indices = _core.adaptive_max_pool3d
fold = _core.col2im
native_channel_shuffle = _core.channel_shuffle
unfold = _core.im2col

def relu(input: Tensor, inplace: bool = False) -> Tensor: ...
def relu6(input: Tensor, inplace: bool = False) -> Tensor: ...
def silu(input: Tensor, inplace: bool = False) -> Tensor: ...
def mish(input: Tensor, inplace: bool = False) -> Tensor: ...
def selu(input: Tensor, inplace: bool = False) -> Tensor: ...
def hardswish(input: Tensor, inplace: bool = False) -> Tensor: ...
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor: ...
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor: ...
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor: ...
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor: ...
def hardtanh(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0, inplace: bool = False) -> Tensor: ...
def threshold(input: Tensor, threshold: Number, value: Number, inplace: bool = False) -> Tensor: ...
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Tensor: ...
def relu_(input: Tensor) -> Tensor: ...
def selu_(input: Tensor) -> Tensor: ...
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor: ...
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor: ...
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor: ...
def hardtanh_(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0) -> Tensor: ...
def threshold_(input: Tensor, threshold: Number, value: Number) -> Tensor: ...
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False) -> Tensor: ...
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor: ...
