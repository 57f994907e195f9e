// What users call: pooling over one to three axes, in terms of the rows of pool.cpp.
#include "pyburn/ops/generated/pool_functions.h"

#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/pool.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/pool.h"
#include "pyburn/ops/rules.h"
#include "pyburn/ops/spatial.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "max_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False) "
               "-> Tensor",
        .doc = "Applies 1-d max pooling to input (N, C, L) or (C, L).",
        .torch = "torch.nn.functional.max_pool1d",
        .example = "pyburn.max_pool1d(pyburn.ones(1, 1, 4), 2).shape",
        .samples = R"(
t(2, 3, 7), 2
t(3, 7), 2, (2,)
t(2, 3, 7), 3, 2, 1, ceil_mode=True
t(2, 3, 7), 2, 1, 0, 2
t(0, 3, 7), 2
t(2, 7, 3).transpose(1, 2), 2
t(1, 1, 7).expand(2, 3, 7), 2
t(), 2 ! dimensions
t(2, 3, 7), 2, padding=2 ! half
t(2, 0, 7), 2 ! batch
t(2, 3, 7), (2, 2, 2, 2) ! numbers)"},
    {.schema = "max_pool1d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
               "ceil_mode=False) -> (Tensor output, Tensor indices)",
        .doc = "Applies 1-d max pooling and also returns the indices of the maxima.",
        .torch = "lambda x, k, stride=None, padding=0, dilation=1, ceil_mode=False: torch.nn.functional.max_pool1d(x, k, stride, padding, "
                 "dilation, ceil_mode, True)",
        .example = "pyburn.max_pool1d_with_indices(pyburn.ones(1, 1, 4), 2)[1].shape",
        .samples = R"(
t(2, 3, 7), 2
t(3, 7), 2, (2,)
t(2, 3, 7), 3, 2, 1, ceil_mode=True
t(2, 3, 7), 2, 1, 0, 2
t(0, 3, 7), 2
t(2, 7, 3).transpose(1, 2), 2
t(1, 1, 7).expand(2, 3, 7), 2
t(), 2 ! dimensions
t(2, 3, 7), 2, padding=2 ! half
t(2, 3, 7), (2, 2, 2, 2) ! numbers)"},
    {.schema = "avg_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
               "count_include_pad=True) -> Tensor",
        .doc = "Applies 1-d average pooling to input (N, C, L) or (C, L).",
        .torch = "torch.nn.functional.avg_pool1d",
        .example = "pyburn.avg_pool1d(pyburn.ones(1, 1, 4), 2).shape",
        .samples = R"(
t(2, 3, 7), 2
t(3, 7), 2, (2,)
t(2, 3, 7), 3, 2, 1, ceil_mode=True
t(2, 3, 7), 3, 2, 1, True, False
t(0, 3, 7), 2
t(2, 7, 3).transpose(1, 2), 2
t(1, 1, 7).expand(2, 3, 7), 2
t(), 2 ! dimensions
t(2, 3, 7), 2, padding=2 ! half
t(2, 3, 7), (2, 2, 2, 2) ! numbers)"},
    {.schema = "adaptive_avg_pool1d(Tensor input, int[] output_size) -> Tensor",
        .doc = "Applies 1-d average pooling with windows chosen to give the requested output size.",
        .torch = "torch.nn.functional.adaptive_avg_pool1d",
        .example = "pyburn.adaptive_avg_pool1d(pyburn.ones(1, 1, 4), 2).shape",
        .samples = R"(
t(2, 3, 7), 3
t(3, 7), 1
t(0, 3, 7), 2
t(2, 7, 3).transpose(1, 2), 2
t(1, 1, 7).expand(2, 3, 7), 2
t(), 2 ! dimensions
t(2, 3, 7), (2, 2, 2, 2) ! numbers)"},
    {.schema = "adaptive_max_pool1d(Tensor input, int[] output_size) -> (Tensor output, Tensor indices)",
        .doc = "Applies 1-d max pooling with windows chosen to give the requested output size; also returns the indices of the maxima.",
        .torch = "lambda x, size: torch.nn.functional.adaptive_max_pool1d(x, size, True)",
        .example = "pyburn.adaptive_max_pool1d(pyburn.ones(1, 1, 4), 2)[0].shape",
        .samples = R"(
t(2, 3, 7), 3
t(3, 7), 1
t(0, 3, 7), 2
t(2, 7, 3).transpose(1, 2), 2
t(1, 1, 7).expand(2, 3, 7), 2
t(), 2 ! dimensions
t(2, 3, 7), (2, 2, 2, 2) ! numbers)"},
    {.schema = "lp_pool1d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) -> Tensor",
        .doc = "Applies 1-d power-average pooling: the p-norm of each window, with p = norm_type.",
        .torch = "torch.nn.functional.lp_pool1d",
        .example = "pyburn.lp_pool1d(pyburn.ones(1, 1, 4), 2, 2).shape",
        .samples = R"(
positive(2, 3, 7), 2, 2
positive(3, 7), 3, 2, 1
positive(2, 3, 7), 1.5, 3, 2, ceil_mode=True
positive(0, 3, 7), 2, 2
positive(2, 7, 3).transpose(1, 2), 2, 2
positive(1, 1, 7).expand(2, 3, 7), 2, 2
t(), 2, 2 ! dimensions)"},
    {.schema = "max_unpool1d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, int[]? "
               "output_size=None) -> Tensor",
        .doc = "Inverts max_pool1d: writes input at the given indices and zeros elsewhere.",
        .torch = "torch.nn.functional.max_unpool1d",
        .example = "pyburn.max_unpool1d(*pyburn.max_pool1d_with_indices(pyburn.ones(1, 1, 4), 2), 2).shape",
        .samples = R"(
t(1, 2, 3), tensor([[[0, 3, 4], [5, 2, 1]]]), 2
t(2, 3), tensor([[0, 3, 4], [5, 2, 1]]), 2, 2
t(1, 2, 3), tensor([[[0, 3, 4], [5, 2, 1]]]), 2, output_size=(7,)
t(2, 3), tensor([[0, 3, 4], [5, 2, 1]]), 4, 2, padding=1
t(0, 2, 3), index(0, 2, 3, below=6), 2
t(1, 3, 2).transpose(1, 2), tensor([[[0, 3, 4], [5, 2, 1]]]), 2
t(1, 1, 3).expand(1, 2, 3), tensor([[[0, 3, 4], [5, 2, 1]]]), 2
t(), tensor(0), 2 ! dimensions
t(1, 2, 3), tensor([[[0, 3, 4], [5, 2, 1]]]), 2, output_size=1 ! output_size)"},
    {.schema = "max_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False) "
               "-> Tensor",
        .doc = "Applies 2-d max pooling to input (N, C, H, W) or (C, H, W).",
        .torch = "torch.nn.functional.max_pool2d",
        .example = "pyburn.max_pool2d(pyburn.ones(1, 1, 4, 4), 2).shape",
        .samples = R"(
t(1, 2, 4, 6), (2, 3)
t(2, 4, 6), (2, 3), (1, 2)
t(1, 2, 4, 6), 3, 2, (0, 1), ceil_mode=True
t(1, 2, 4, 6), 2, 1, 0, 2
t(0, 2, 4, 6), 2
t(1, 4, 6, 2).permute(0, 3, 1, 2), 2
t(1, 1, 4, 6).expand(1, 2, 4, 6), 2
t(), 2 ! dimensions
t(1, 2, 4, 6), 2, padding=2 ! half
t(1, 2, 4, 6), (2, 2, 2, 2) ! numbers)"},
    {.schema = "max_pool2d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
               "ceil_mode=False) -> (Tensor output, Tensor indices)",
        .doc = "Applies 2-d max pooling and also returns the indices of the maxima.",
        .torch = "lambda x, k, stride=None, padding=0, dilation=1, ceil_mode=False: torch.nn.functional.max_pool2d(x, k, stride, padding, "
                 "dilation, ceil_mode, True)",
        .example = "pyburn.max_pool2d_with_indices(pyburn.ones(1, 1, 4, 4), 2)[1].shape",
        .samples = R"(
t(1, 2, 4, 6), (2, 3)
t(2, 4, 6), (2, 3), (1, 2)
t(1, 2, 4, 6), 3, 2, (0, 1), ceil_mode=True
t(1, 2, 4, 6), 2, 1, 0, 2
t(0, 2, 4, 6), 2
t(1, 4, 6, 2).permute(0, 3, 1, 2), 2
t(1, 1, 4, 6).expand(1, 2, 4, 6), 2
t(), 2 ! dimensions
t(1, 2, 4, 6), 2, padding=2 ! half
t(1, 2, 4, 6), (2, 2, 2, 2) ! numbers)"},
    {.schema = "avg_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
               "count_include_pad=True, int? divisor_override=None) -> Tensor",
        .doc = "Applies 2-d average pooling to input (N, C, H, W) or (C, H, W).",
        .torch = "torch.nn.functional.avg_pool2d",
        .example = "pyburn.avg_pool2d(pyburn.ones(1, 1, 4, 4), 2).shape",
        .samples = R"(
t(1, 2, 4, 6), (2, 3)
t(2, 4, 6), (2, 3), (1, 2)
t(1, 2, 4, 6), 3, 2, (0, 1), ceil_mode=True
t(1, 2, 4, 6), 3, 2, 1, True, False
t(0, 2, 4, 6), 2
t(1, 4, 6, 2).permute(0, 3, 1, 2), 2
t(1, 1, 4, 6).expand(1, 2, 4, 6), 2
t(1, 2, 4, 6), 2, divisor_override=3
t(), 2 ! dimensions
t(1, 2, 4, 6), 2, padding=2 ! half
t(1, 2, 4, 6), (2, 2, 2, 2) ! numbers
t(1, 2, 4, 6), 2, divisor_override=0 ! divisor)"},
    {.schema = "adaptive_avg_pool2d(Tensor input, int[] output_size) -> Tensor",
        .doc = "Applies 2-d average pooling with windows chosen to give the requested output size.",
        .torch = "torch.nn.functional.adaptive_avg_pool2d",
        .example = "pyburn.adaptive_avg_pool2d(pyburn.ones(1, 1, 4, 4), 2).shape",
        .samples = R"(
t(1, 2, 4, 6), (3, 2)
t(2, 4, 6), 1
t(0, 2, 4, 6), 2
t(1, 4, 6, 2).permute(0, 3, 1, 2), 2
t(1, 1, 4, 6).expand(1, 2, 4, 6), 2
t(), 2 ! dimensions
t(1, 2, 4, 6), (2, 2, 2, 2) ! numbers)"},
    {.schema = "adaptive_max_pool2d(Tensor input, int[] output_size) -> (Tensor output, Tensor indices)",
        .doc = "Applies 2-d max pooling with windows chosen to give the requested output size; also returns the indices of the maxima.",
        .torch = "lambda x, size: torch.nn.functional.adaptive_max_pool2d(x, size, True)",
        .example = "pyburn.adaptive_max_pool2d(pyburn.ones(1, 1, 4, 4), 2)[0].shape",
        .samples = R"(
t(1, 2, 4, 6), (3, 2)
t(2, 4, 6), 1
t(0, 2, 4, 6), 2
t(1, 4, 6, 2).permute(0, 3, 1, 2), 2
t(1, 1, 4, 6).expand(1, 2, 4, 6), 2
t(), 2 ! dimensions
t(1, 2, 4, 6), (2, 2, 2, 2) ! numbers)"},
    {.schema = "lp_pool2d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) -> Tensor",
        .doc = "Applies 2-d power-average pooling: the p-norm of each window, with p = norm_type.",
        .torch = "torch.nn.functional.lp_pool2d",
        .example = "pyburn.lp_pool2d(pyburn.ones(1, 1, 4, 4), 2, 2).shape",
        .samples = R"(
positive(1, 2, 4, 6), 2, (2, 3)
t(1, 2, 4, 5), inf, 2, 1
t(1, 2, 4, 5).constant, -inf, (2, 3)
positive(2, 4, 6), 3, 2, 1
positive(1, 2, 4, 6), 1.5, 3, 2, ceil_mode=True
positive(0, 2, 4, 6), 2, 2
positive(1, 4, 6, 2).permute(0, 3, 1, 2), 2, 2
positive(1, 1, 4, 6).expand(1, 2, 4, 6), 2, 2
t(), 2, 2 ! dimensions
t(1, 2, 4, 5), 0.0, 2 ! non-zero)"},
    {.schema = "max_unpool2d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, int[]? "
               "output_size=None) -> Tensor",
        .doc = "Inverts max_pool2d: writes input at the given indices and zeros elsewhere.",
        .torch = "torch.nn.functional.max_unpool2d",
        .example = "pyburn.max_unpool2d(*pyburn.max_pool2d_with_indices(pyburn.ones(1, 1, 4, 4), 2), 2).shape",
        .samples = R"(
t(1, 2, 2, 2), tensor([[[[0, 3], [8, 15]], [[5, 2], [9, 12]]]]), 2
t(2, 2, 2), tensor([[[0, 3], [8, 15]], [[5, 2], [9, 12]]]), 2, 2
t(1, 2, 2, 2), tensor([[[[0, 3], [8, 15]], [[5, 2], [9, 12]]]]), 2, output_size=(5, 4)
t(2, 2, 2), tensor([[[0, 3], [8, 15]], [[5, 2], [9, 12]]]), 4, 2, padding=1
t(0, 2, 2, 2), index(0, 2, 2, 2, below=16), 2
t(1, 2, 2, 2).permute(0, 3, 1, 2), tensor([[[[0, 3], [8, 15]], [[5, 2], [9, 12]]]]), 2
t(1, 1, 2, 2).expand(1, 2, 2, 2), tensor([[[[0, 3], [8, 15]], [[5, 2], [9, 12]]]]), 2
t(), tensor(0), 2 ! dimensions
t(1, 2, 2, 2), tensor([[[[0, 3], [8, 15]], [[5, 2], [9, 12]]]]), 2, output_size=1 ! output_size)"},
    {.schema = "max_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False) "
               "-> Tensor",
        .doc = "Applies 3-d max pooling to input (N, C, D, H, W) or (C, D, H, W).",
        .torch = "torch.nn.functional.max_pool3d",
        .example = "pyburn.max_pool3d(pyburn.ones(1, 1, 4, 4, 4), 2).shape",
        .samples = R"(
t(1, 2, 2, 3, 4), (2, 3, 2)
t(2, 2, 3, 4), (2, 3, 2), (1, 2, 2)
t(1, 2, 2, 3, 4), 3, 2, (1, 0, 1), ceil_mode=True
t(1, 2, 2, 3, 4), 2, 1, 0, (1, 2, 1)
t(0, 2, 2, 3, 4), 2
t(1, 2, 3, 4, 2).permute(0, 4, 1, 2, 3), 2
t(1, 1, 2, 3, 4).expand(1, 2, 2, 3, 4), 2
t(), 2 ! dimensions
t(1, 2, 2, 3, 4), 2, padding=2 ! half
t(1, 2, 2, 3, 4), (2, 2, 2, 2) ! numbers)"},
    {.schema = "max_pool3d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
               "ceil_mode=False) -> (Tensor output, Tensor indices)",
        .doc = "Applies 3-d max pooling and also returns the indices of the maxima.",
        .torch = "lambda x, k, stride=None, padding=0, dilation=1, ceil_mode=False: torch.nn.functional.max_pool3d(x, k, stride, padding, "
                 "dilation, ceil_mode, True)",
        .example = "pyburn.max_pool3d_with_indices(pyburn.ones(1, 1, 4, 4, 4), 2)[1].shape",
        .samples = R"(
t(1, 2, 2, 3, 4), (2, 3, 2)
t(2, 2, 3, 4), (2, 3, 2), (1, 2, 2)
t(1, 2, 2, 3, 4), 3, 2, (1, 0, 1), ceil_mode=True
t(1, 2, 2, 3, 4), 2, 1, 0, (1, 2, 1)
t(0, 2, 2, 3, 4), 2
t(1, 2, 3, 4, 2).permute(0, 4, 1, 2, 3), 2
t(1, 1, 2, 3, 4).expand(1, 2, 2, 3, 4), 2
t(), 2 ! dimensions
t(1, 2, 2, 3, 4), 2, padding=2 ! half
t(1, 2, 2, 3, 4), (2, 2, 2, 2) ! numbers)"},
    {.schema = "avg_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
               "count_include_pad=True, int? divisor_override=None) -> Tensor",
        .doc = "Applies 3-d average pooling to input (N, C, D, H, W) or (C, D, H, W).",
        .torch = "torch.nn.functional.avg_pool3d",
        .example = "pyburn.avg_pool3d(pyburn.ones(1, 1, 4, 4, 4), 2).shape",
        .samples = R"(
t(1, 2, 2, 3, 4), (2, 3, 2)
t(2, 2, 3, 4), (2, 3, 2), (1, 2, 2)
t(1, 2, 3, 3, 4), 3, 2, (1, 0, 1), ceil_mode=True
t(1, 2, 3, 3, 4), 3, 2, 1, True, False
t(0, 2, 2, 3, 4), 2
t(1, 2, 3, 4, 2).permute(0, 4, 1, 2, 3), 2
t(1, 1, 2, 3, 4).expand(1, 2, 2, 3, 4), 2
t(1, 2, 2, 3, 4), 2, divisor_override=3
t(), 2 ! dimensions
t(1, 2, 2, 3, 4), 2, padding=2 ! half
t(1, 2, 2, 3, 4), (2, 2, 2, 2) ! numbers
t(1, 2, 2, 3, 4), 2, divisor_override=0 ! divisor)"},
    {.schema = "adaptive_avg_pool3d(Tensor input, int[] output_size) -> Tensor",
        .doc = "Applies 3-d average pooling with windows chosen to give the requested output size.",
        .torch = "torch.nn.functional.adaptive_avg_pool3d",
        .example = "pyburn.adaptive_avg_pool3d(pyburn.ones(1, 1, 4, 4, 4), 2).shape",
        .samples = R"(
t(1, 2, 2, 3, 4), (2, 3, 1)
t(2, 2, 3, 4), 1
t(0, 2, 2, 3, 4), 2
t(1, 2, 3, 4, 2).permute(0, 4, 1, 2, 3), 2
t(1, 1, 2, 3, 4).expand(1, 2, 2, 3, 4), 2
t(), 2 ! dimensions
t(1, 2, 2, 3, 4), (2, 2, 2, 2) ! numbers)"},
    {.schema = "adaptive_max_pool3d(Tensor input, int[] output_size) -> (Tensor output, Tensor indices)",
        .doc = "Applies 3-d max pooling with windows chosen to give the requested output size; also returns the indices of the maxima.",
        .torch = "lambda x, size: torch.nn.functional.adaptive_max_pool3d(x, size, True)",
        .example = "pyburn.adaptive_max_pool3d(pyburn.ones(1, 1, 4, 4, 4), 2)[0].shape",
        .samples = R"(
t(1, 2, 2, 3, 4), (2, 3, 1)
t(2, 2, 3, 4), 1
t(0, 2, 2, 3, 4), 2
t(1, 2, 3, 4, 2).permute(0, 4, 1, 2, 3), 2
t(1, 1, 2, 3, 4).expand(1, 2, 2, 3, 4), 2
t(), 2 ! dimensions
t(1, 2, 2, 3, 4), (2, 2, 2, 2) ! numbers)"},
    {.schema = "lp_pool3d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) -> Tensor",
        .doc = "Applies 3-d power-average pooling: the p-norm of each window, with p = norm_type.",
        .torch = "torch.nn.functional.lp_pool3d",
        .example = "pyburn.lp_pool3d(pyburn.ones(1, 1, 4, 4, 4), 2, 2).shape",
        .samples = R"(
positive(1, 2, 2, 3, 4), 2, (2, 3, 2)
positive(2, 2, 3, 4), 3, 2, 1
positive(1, 2, 3, 3, 4), 1.5, 3, 2, ceil_mode=True
positive(0, 2, 2, 3, 4), 2, 2
positive(1, 2, 3, 4, 2).permute(0, 4, 1, 2, 3), 2, 2
positive(1, 1, 2, 3, 4).expand(1, 2, 2, 3, 4), 2, 2
t(), 2, 2 ! dimensions)"},
    {.schema = "max_unpool3d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, int[]? "
               "output_size=None) -> Tensor",
        .doc = "Inverts max_pool3d: writes input at the given indices and zeros elsewhere.",
        .torch = "torch.nn.functional.max_unpool3d",
        .example = "pyburn.max_unpool3d(*pyburn.max_pool3d_with_indices(pyburn.ones(1, 1, 4, 4, 4), 2), 2).shape",
        .samples = R"(
t(1, 2, 1, 2, 1), tensor([[[[[0], [5]]], [[[7], [2]]]]]), 2
t(2, 1, 2, 1), tensor([[[[0], [9]]], [[[7], [2]]]]), 2, 2
t(1, 2, 1, 2, 1), tensor([[[[[0], [5]]], [[[7], [2]]]]]), 2, output_size=(3, 4, 2)
t(2, 1, 2, 1), tensor([[[[0], [9]]], [[[7], [2]]]]), 3, 3, padding=0
t(0, 2, 1, 2, 1), index(0, 2, 1, 2, 1, below=8), 2
t(1, 1, 2, 1, 2).permute(0, 4, 1, 2, 3), tensor([[[[[0], [5]]], [[[7], [2]]]]]), 2
t(1, 1, 1, 2, 1).expand(1, 2, 1, 2, 1), tensor([[[[[0], [5]]], [[[7], [2]]]]]), 2
t(1, 2, 1, 2, 1), tensor([[[[[0], [5]]], [[[7], [2]]]]]), 4, 3, padding=1
t(), tensor(0), 2 ! dimensions
t(1, 2, 1, 2, 1), tensor([[[[[0], [5]]], [[[7], [2]]]]]), 2, output_size=1 ! output_size)"},
};

Dims stride_or_kernel(const OptionalDims& stride, const Dims& kernel) { return stride && !stride->empty() ? *stride : kernel; }

// The arguments of a maximum over `axes` axes, one entry each.
template <int axes>
MaxPool max_attributes(const Dims& kernel_size, const OptionalDims& stride, const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return {spread(kernel_size, axes, "kernel_size", 1), spread(stride_or_kernel(stride, kernel_size), axes, "stride", 1),
      spread(padding, axes, "padding", 0), spread(dilation, axes, "dilation", 1), ceil_mode};
}
// A batch may be empty, but no image in it, as in PyTorch.
void check_images(const TensorHandle& x, int64_t axes) {
  for (int64_t i = x.rank() == axes + 2 ? 1 : 0; i < x.rank(); ++i)
    require(x.shape()[int(i)] > 0, "Expected {}D or {}D (batch mode) tensor with non-zero sizes, except for the batch: got {}", axes + 1,
        axes + 2, x.shape());
}
TensorHandle largest(const TensorHandle& x, const MaxPool& a) {
  check_images(x, a.kernel_size.size());
  return max_pool(x, a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode, a.adaptive);
}
Handles<2> largest_with_indices(const TensorHandle& x, const MaxPool& a) {
  check_images(x, a.kernel_size.size());
  return max_pool_with_indices(x, a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode, a.adaptive);
}
template <int axes>
TensorHandle mean_of_windows(const TensorHandle& x, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor) {
  require<ValueError>(!divisor || *divisor != 0, "expected a divisor other than 0: got 0");
  check_images(x, axes);
  const Dims kernel = spread(kernel_size, axes, "kernel_size", 1), steps = spread(stride_or_kernel(stride, kernel), axes, "stride", 1);
  return avg_pool(x, kernel, steps, spread(padding, axes, "padding", 0), ceil_mode, count_include_pad, divisor.value_or(0), false);
}
template <int axes>
TensorHandle adaptive_mean(const TensorHandle& x, const Dims& output_size) {
  return avg_pool(x, spread(output_size, axes, "output_size", 0), {}, {}, false, true, 0, true);
}
template <int axes>
Handles<2> adaptive_largest(const TensorHandle& x, const Dims& output_size) {
  check_images(x, axes);
  return max_pool_with_indices(x, spread(output_size, axes, "output_size", 0), {}, {}, {}, false, true);
}
template <int axes>
TensorHandle norm_of_windows(const TensorHandle& x, double norm_type, const Dims& kernel_size, const OptionalDims& stride, bool ceil_mode) {
  require<ValueError>(norm_type != 0, "norm_type must be a non-zero value: got {}", norm_type);
  if (std::isinf(norm_type)) {  // the largest element, or the smallest
    const TensorHandle size = norm_type > 0 ? abs(x) : -abs(x);
    const TensorHandle most = largest(size, max_attributes<axes>(kernel_size, stride, Dims{0}, Dims{1}, ceil_mode));
    return norm_type > 0 ? most : -most;
  }
  const TensorHandle means = mean_of_windows<axes>(pow(x, norm_type), kernel_size, stride, Dims{0}, ceil_mode, true, {});
  return pow(means * double(Shape(spread(kernel_size, axes, "kernel_size", 1)).numel()), 1 / norm_type);
}

// The size that a pooling with these arguments may have had; a given one must be near it.
template <int axes>
TensorHandle unpooled(const TensorHandle& x, const TensorHandle& indices, const Dims& kernel_size, const OptionalDims& stride,
    const Dims& padding, const OptionalDims& output_size) {
  require(x.rank() == axes + 1 || x.rank() == axes + 2, "expected {} or {} dimensions: got {}", axes + 1, axes + 2, x.shape());
  const MaxPool a = max_attributes<axes>(kernel_size, stride, padding, Dims{1}, false);
  Dims size;
  for (int i = 0; i < axes; ++i)
    size.push_back((x.shape()[x.rank() - axes + i] - 1) * Checked(a.stride[i]) + a.kernel_size[i] - 2 * Checked(a.padding[i]));
  if (output_size) {
    Dims given = output_size->size() == 1 ? Dims(axes, (*output_size)[0]) : *output_size;
    require<ValueError>(given.size() >= axes && given.size() <= axes + 2, "expected {} or {} numbers for output_size: got {}", axes,
        axes + 2, given.size());
    given = Dims(std::span<const int64_t>(given.end() - axes, given.end()));  // without the batch and the channels
    for (int i = 0; i < axes; ++i)
      require<ValueError>(given[i] > size[i] - Checked(a.stride[i]) && given[i] < size[i] + Checked(a.stride[i]),
          "output_size is not a possible input size of this pooling: got {} for {}", given, size);
    size = given;
  }
  return unpool(x, indices, size, false);
}

}  // namespace

TensorHandle fn::max_pool1d(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    const Dims& dilation, bool ceil_mode) {
  return largest(input, max_attributes<1>(kernel_size, stride, padding, dilation, ceil_mode));
}
Handles<2> fn::max_pool1d_with_indices(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    const Dims& dilation, bool ceil_mode) {
  return largest_with_indices(input, max_attributes<1>(kernel_size, stride, padding, dilation, ceil_mode));
}
TensorHandle fn::avg_pool1d(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    bool ceil_mode, bool count_include_pad) {
  return mean_of_windows<1>(input, kernel_size, stride, padding, ceil_mode, count_include_pad, {});
}
TensorHandle fn::adaptive_avg_pool1d(const TensorHandle& input, const Dims& output_size) { return adaptive_mean<1>(input, output_size); }
Handles<2> fn::adaptive_max_pool1d(const TensorHandle& input, const Dims& output_size) { return adaptive_largest<1>(input, output_size); }
TensorHandle fn::lp_pool1d(
    const TensorHandle& input, double norm_type, const Dims& kernel_size, const OptionalDims& stride, bool ceil_mode) {
  return norm_of_windows<1>(input, norm_type, kernel_size, stride, ceil_mode);
}
TensorHandle fn::max_unpool1d(const TensorHandle& input, const TensorHandle& indices, const Dims& kernel_size, const OptionalDims& stride,
    const Dims& padding, const OptionalDims& output_size) {
  return unpooled<1>(input, indices, kernel_size, stride, padding, output_size);
}

TensorHandle fn::max_pool2d(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    const Dims& dilation, bool ceil_mode) {
  return largest(input, max_attributes<2>(kernel_size, stride, padding, dilation, ceil_mode));
}
Handles<2> fn::max_pool2d_with_indices(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    const Dims& dilation, bool ceil_mode) {
  return largest_with_indices(input, max_attributes<2>(kernel_size, stride, padding, dilation, ceil_mode));
}
TensorHandle fn::avg_pool2d(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return mean_of_windows<2>(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}
TensorHandle fn::adaptive_avg_pool2d(const TensorHandle& input, const Dims& output_size) { return adaptive_mean<2>(input, output_size); }
Handles<2> fn::adaptive_max_pool2d(const TensorHandle& input, const Dims& output_size) { return adaptive_largest<2>(input, output_size); }
TensorHandle fn::lp_pool2d(
    const TensorHandle& input, double norm_type, const Dims& kernel_size, const OptionalDims& stride, bool ceil_mode) {
  return norm_of_windows<2>(input, norm_type, kernel_size, stride, ceil_mode);
}
TensorHandle fn::max_unpool2d(const TensorHandle& input, const TensorHandle& indices, const Dims& kernel_size, const OptionalDims& stride,
    const Dims& padding, const OptionalDims& output_size) {
  return unpooled<2>(input, indices, kernel_size, stride, padding, output_size);
}

TensorHandle fn::max_pool3d(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    const Dims& dilation, bool ceil_mode) {
  return largest(input, max_attributes<3>(kernel_size, stride, padding, dilation, ceil_mode));
}
Handles<2> fn::max_pool3d_with_indices(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    const Dims& dilation, bool ceil_mode) {
  return largest_with_indices(input, max_attributes<3>(kernel_size, stride, padding, dilation, ceil_mode));
}
TensorHandle fn::avg_pool3d(const TensorHandle& input, const Dims& kernel_size, const OptionalDims& stride, const Dims& padding,
    bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return mean_of_windows<3>(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}
TensorHandle fn::adaptive_avg_pool3d(const TensorHandle& input, const Dims& output_size) { return adaptive_mean<3>(input, output_size); }
Handles<2> fn::adaptive_max_pool3d(const TensorHandle& input, const Dims& output_size) { return adaptive_largest<3>(input, output_size); }
TensorHandle fn::lp_pool3d(
    const TensorHandle& input, double norm_type, const Dims& kernel_size, const OptionalDims& stride, bool ceil_mode) {
  return norm_of_windows<3>(input, norm_type, kernel_size, stride, ceil_mode);
}
TensorHandle fn::max_unpool3d(const TensorHandle& input, const TensorHandle& indices, const Dims& kernel_size, const OptionalDims& stride,
    const Dims& padding, const OptionalDims& output_size) {
  return unpooled<3>(input, indices, kernel_size, stride, padding, output_size);
}

void register_pool_functions(OpTable& table) { table.add(functions); }

}  // namespace pyburn
