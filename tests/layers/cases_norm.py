"""Normalising layers."""

TABLE = """
BatchNorm1d(3) | t(4, 3)
BatchNorm1d(3) | t(4, 3, 5)
BatchNorm1d(3, 0.1, 0.5) | t(4, 3)
BatchNorm1d(3, momentum=None) | t(4, 3)
BatchNorm1d(3, affine=False) | t(4, 3)
BatchNorm1d(3, bias=False) | t(4, 3)
BatchNorm1d(3, track_running_stats=False) | t(4, 3)
BatchNorm1d(3, track_running_stats=False) | t(4, 3) | eval
BatchNorm1d(3) | t(4, 3) | eval
BatchNorm1d(3) | t(4, 3, 2, 2) ! ValueError
BatchNorm1d(3) | t(4, 2) ! RuntimeError
BatchNorm2d(3) | t(2, 3, 2, 2)
BatchNorm2d(3, eps=0.01, momentum=0.25, affine=False, track_running_stats=True) | t(2, 3, 2, 2)
BatchNorm2d(3) | t(2, 3, 2, 2) | eval
BatchNorm2d(3) | t(2, 3) ! ValueError
BatchNorm3d(2) | t(2, 2, 2, 2, 1)
BatchNorm3d(2, affine=False, track_running_stats=False) | t(2, 2, 2, 2, 1) | eval
BatchNorm3d(2) | t(2, 2, 2, 2) ! ValueError
InstanceNorm1d(3) | t(2, 3, 4)
InstanceNorm1d(3) | t(3, 4)
InstanceNorm1d(3, 0.1, affine=True) | t(2, 3, 4)
InstanceNorm1d(3, affine=True, bias=False) | t(2, 3, 4)
InstanceNorm1d(3, track_running_stats=True) | t(2, 3, 4)
InstanceNorm1d(3, momentum=0.5, track_running_stats=True) | t(2, 3, 4) | eval
InstanceNorm1d(3) | t(2, 4, 4)
InstanceNorm1d(3, affine=True) | t(2, 4, 4) ! ValueError
InstanceNorm1d(3) | t(2, 3, 4, 1) ! ValueError
InstanceNorm2d(2) | t(2, 2, 3, 2)
InstanceNorm2d(2, affine=True, track_running_stats=True) | t(2, 3, 2) | eval
InstanceNorm2d(2, affine=True, track_running_stats=True) | t(2, 2, 3, 2)
InstanceNorm3d(2) | t(1, 2, 3, 2, 2)
InstanceNorm3d(2, affine=True) | t(2, 3, 2, 2)
LayerNorm(4) | t(3, 4)
LayerNorm((2, 3)) | t(4, 2, 3)
LayerNorm([2, 3], eps=0.1) | t(4, 2, 3)
LayerNorm(4, elementwise_affine=False) | t(3, 4)
LayerNorm(4, 1e-3, True, False) | t(3, 4)
LayerNorm(4) | t(3, 5) ! RuntimeError
RMSNorm(4) | t(3, 4)
RMSNorm([2, 3], eps=0.1) | t(4, 2, 3)
RMSNorm(4, None, False) | t(3, 4)
RMSNorm(4, elementwise_affine=True) | t(2, 3, 4)
GroupNorm(2, 4) | t(2, 4, 3)
GroupNorm(4, 4, 0.1) | t(2, 4, 3, 2)
GroupNorm(1, 4, affine=False) | t(2, 4)
GroupNorm(2, 4, bias=False) | t(2, 4, 3)
GroupNorm(3, 4) ! ValueError
BatchNorm1d(3) | t(0, 3)
BatchNorm1d(3, affine=False) | t(0, 3, 2)
BatchNorm1d(3, eps=-1.0) | t(4, 3) ! ValueError
BatchNorm1d(3) | t(1, 3) ! ValueError
BatchNorm2d(3) | t(0, 3, 2, 2)
LayerNorm(4) | t(0, 4)
RMSNorm(4) | t(0, 4)
CrossMapLRN2d(3, 0.5, 0.5, 2) ~ torch.nn.LocalResponseNorm(3, 0.5, 0.5, 2) | t(2, 5, 2, 2)
CrossMapLRN2d(4, 0.5) ~ torch.nn.LocalResponseNorm(3, 0.375) | t(1, 5, 2, 2)
CrossMapLRN2d(3) | t(5, 2, 2) ! ValueError
LocalResponseNorm(2) | t(1, 4, 3)
LocalResponseNorm(3, 0.5, 0.5, 2) | t(2, 4, 2, 2)
LocalResponseNorm(size=1, alpha=0.1, beta=1.5, k=0.5) | t(2, 4, 3)
"""
