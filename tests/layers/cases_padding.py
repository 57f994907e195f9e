"""Layers that put a border around a tensor."""

TABLE = """
ConstantPad1d(2, 3.5) | t(2, 3, 4)
ConstantPad1d((1, 0), -1) | t(3, 4)
ConstantPad2d(1, 0.5) | t(1, 2, 3, 3)
ConstantPad2d((1, 0, 2, -1), 2) | t(1, 2, 3, 3)
ConstantPad3d((1, 0, 0, 2, 1, 1), value=1.5) | t(1, 1, 2, 2, 2)
ConstantPad1d(2) ! TypeError
ZeroPad1d(1) | t(2, 3, 4)
ZeroPad1d((0, 2)) | t(3, 4)
ZeroPad2d(1) | t(1, 2, 3, 3)
ZeroPad2d((1, 0, 2, 0)) | t(2, 3, 3)
ZeroPad3d(1) | t(1, 1, 2, 2, 2)
ReflectionPad1d(2) | t(2, 3, 4)
ReflectionPad1d((1, 0)) | t(3, 4)
ReflectionPad2d(1) | t(1, 2, 3, 3)
ReflectionPad2d((1, 0, 2, 0)) | t(2, 3, 3)
ReflectionPad3d(1) | t(1, 1, 2, 2, 2)
ReplicationPad1d(2) | t(2, 3, 4)
ReplicationPad1d((1, 0)) | t(3, 4)
ReplicationPad2d(1) | t(1, 2, 3, 3)
ReplicationPad2d((1, 0, 2, 0)) | t(2, 3, 3)
ReplicationPad3d((1, 0, 0, 2, 1, 1)) | t(1, 1, 2, 2, 2)
CircularPad1d(2) | t(2, 3, 4)
CircularPad1d((1, 0)) | t(3, 4)
CircularPad2d(1) | t(1, 2, 3, 3)
CircularPad2d((1, 0, 2, 0)) | t(2, 3, 3)
CircularPad3d(1) | t(1, 1, 2, 2, 2)
ReflectionPad1d(9) | t(1, 2, 3) ! RuntimeError
"""
