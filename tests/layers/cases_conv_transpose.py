"""Transposed convolutions."""

TABLE = """
ConvTranspose1d(2, 3, 3) | t(2, 2, 4)
ConvTranspose1d(2, 3, 3, 2, 1, 1) | t(2, 2, 4)
ConvTranspose1d(2, 4, 2, stride=3, padding=1, output_padding=2, groups=2, bias=False, dilation=2) | t(2, 2, 5)
ConvTranspose1d(2, 3, 3, dilation=2, output_padding=0, groups=1) | t(2, 4)
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), [10]
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), output_size=(1, 2, 9)
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), output_size=[12] ! ValueError
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), [10, 1] ! ValueError
ConvTranspose2d(2, 3, 2) | t(1, 2, 3, 4)
ConvTranspose2d(2, 3, (3, 2), (2, 1), (1, 0), (1, 0)) | t(1, 2, 3, 4)
ConvTranspose2d(4, 2, 2, 2, groups=2) | t(1, 4, 2, 3)
ConvTranspose2d(2, 3, 3, stride=2, padding=1, bias=False) | t(1, 2, 3, 4), [6, 8]
ConvTranspose2d(2, 3, 3, stride=2, padding=1) | t(2, 3, 4), output_size=None
ConvTranspose3d(2, 1, 2) | t(1, 2, 2, 3, 2)
ConvTranspose3d(2, 2, (1, 2, 3), stride=(1, 2, 2), padding=(0, 0, 1), output_padding=(0, 1, 0)) | t(1, 2, 2, 3, 2)
ConvTranspose3d(2, 2, 2, stride=2) | t(1, 2, 1, 2, 2), [3, 4, 5]
ConvTranspose2d(2, 3, 2, padding_mode='reflect') ! ValueError
ConvTranspose2d(3, 2, 2, groups=2) ! ValueError
ConvTranspose2d(2, 3, 2, groups=0) ! ValueError
ConvTranspose2d(2, 3) ! TypeError
ConvTranspose2d(2, 3, 2) | t(2, 2) ! RuntimeError
"""
