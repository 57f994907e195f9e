"""Cases for transforms that are not random, as calls that torchvision and pyburn both understand: F is the functional module, T the
module of classes, M an interpolation mode by name, img the picture, float32 a dtype of the library."""

from __future__ import annotations

import numpy as np

ANY = [
    "F.resize(img, 7)",
    "F.resize(img, [5, 13])",
    "F.resize(img, 6, max_size=7)",
    "F.resize(img, [20, 17])",
    "F.resize(img, [5, 6], M('NEAREST'))",
    "F.resize(img, [7, 8], M('BICUBIC'))",
    "F.crop(img, 2, 1, 4, 5)",
    "F.crop(img, -2, 7, 6, 5)",
    "F.center_crop(img, 4)",
    "F.center_crop(img, [5, 14])",
    "F.resized_crop(img, 1, 2, 6, 5, [8, 8])",
    "F.pad(img, 2)",
    "F.pad(img, [1, 3], fill=7)",
    "F.pad(img, [1, 2, 3, 4], padding_mode='edge')",
    "F.pad(img, [1, 2, 3, 4], padding_mode='reflect')",
    "F.pad(img, 2, padding_mode='symmetric')",
    "F.hflip(img)",
    "F.vflip(img)",
    "F.rotate(img, 30)",
    "F.rotate(img, -75.5, expand=True)",
    "F.rotate(img, 45, M('BILINEAR'), fill=[9, 60, 120])",
    "F.rotate(img, 20, center=[2, 3])",
    "F.affine(img, 15, [1, -2], 1.25, [8.0, -5.0])",
    "F.affine(img, -40, [0, 1], 0.8, [0.0, 12.0], M('BILINEAR'), fill=100)",
    "F.affine(img, 10, [0, 0], 1.0, [5.0, 0.0], center=[0, 0])",
    "F.adjust_brightness(img, 0.5)",
    "F.adjust_brightness(img, 1.7)",
    "F.adjust_contrast(img, 0.3)",
    "F.adjust_contrast(img, 1.8)",
    "F.adjust_saturation(img, 0.2)",
    "F.adjust_saturation(img, 2.5)",
    "F.adjust_hue(img, 0.2)",
    "F.adjust_hue(img, -0.35)",
    "F.adjust_gamma(img, 0.7)",
    "F.adjust_sharpness(img, 0.4)",
    "F.adjust_sharpness(img, 1.9)",
    "F.rgb_to_grayscale(img)",
    "F.rgb_to_grayscale(img, 3)",
    "F.invert(img)",
    "F.autocontrast(img)",
    "F.gaussian_blur(img, 3)",
    "F.gaussian_blur(img, [5, 3], [1.5, 0.7])",
    "F.solarize(img, 0.4 * BOUND)",
    "T.Pad(1)(T.CenterCrop(6)(T.Resize(8)(img)))",
    "F.perspective(img, [[0, 0], [8, 0], [8, 6], [0, 6]], [[1, 1], [7, 0], [8, 5], [2, 6]])",
    "F.perspective(img, [[0, 0], [8, 0], [8, 6], [0, 6]], [[2, 0], [8, 1], [7, 6], [0, 4]], M('NEAREST'), fill=[9, 60, 120])",
    "F.five_crop(img, 4)[1]",
    "F.five_crop(img, [3, 5])[4]",
    "F.ten_crop(img, 4)[7]",
    "F.ten_crop(img, 4, vertical_flip=True)[5]",
    "T.RandomInvert(1.0)(img)",
    "T.RandomAutocontrast(1.0)(img)",
    "T.RandomSolarize(0.4 * BOUND, 1.0)(img)",
    "T.RandomAdjustSharpness(1.9, 1.0)(img)",
]
PIL = [
    "F.to_tensor(img)",
    "F.to_tensor(img.convert('L'))",
    "F.to_tensor(img.convert('1'))",
    "F.to_tensor(img.convert('I'))",
    "F.to_tensor(img.convert('F'))",
    "F.to_tensor(img.convert('RGBA'))",
    "F.pil_to_tensor(img)",
    "F.normalize(F.to_tensor(img), [0.5, 0.4, 0.3], [0.2, 0.3, 0.4])",
    "T.Compose([T.Resize(8), T.CenterCrop(6), T.ToTensor(), T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])])(img)",
    "F.equalize(img)",
    "F.posterize(img, 3)",
    "F.resize(img, [5, 6], M('LANCZOS'))",
    "F.resize(img, [5, 6], M('BOX'))",
    "F.resize(img, [5, 6], M('HAMMING'))",
    "F.pad(img.convert('L'), 2, fill=9)",
]
BYTES = [
    "F.equalize(img)",
    "F.posterize(img, 3)",
    "F.convert_image_dtype(img, float32)",
    "F.convert_image_dtype(img, int32)",
    "F.convert_image_dtype(F.convert_image_dtype(img, int32), uint8)",
    "F.to_pil_image(img)",
    "F.erase(img, 1, 2, 3, 4, 17)",
]
FLOATS = [
    "F.convert_image_dtype(img, uint8)",
    "F.convert_image_dtype(img, float64)",
    "F.to_pil_image(img)",
    "F.resize(img, [5, 6], antialias=False)",
]
CASES = [(kind, call) for kind in ("pil", "uint8", "float32") for call in ANY]
CASES += [("pil", call) for call in PIL] + [("uint8", call) for call in BYTES] + [("float32", call) for call in FLOATS]
CASES += [("batch", call) for call in ("F.resize(img, 7)", "F.rotate(img, 30, fill=1.0)", "F.adjust_contrast(img, 0.3)", "F.hflip(img)")]


def picture() -> np.ndarray:
    """11 x 9 pixels (H, W, C) with smooth and rough parts."""
    rows, columns, channels = np.meshgrid(np.arange(11), np.arange(9), np.arange(3), indexing="ij")
    waves = 127.5 + 80 * np.sin(rows * 0.7 + channels) + 47 * np.cos(columns * 1.3 - channels * 2)
    return ((waves + rows * columns * (channels + 1) * 7 % 31) % 256).astype(np.uint8)


def run(kind: str, call: str, library: object, functional: object, classes: object) -> np.ndarray:
    """What the call gives: an array (C, H, W), or (H, W[, C]) for a picture of Pillow."""
    from PIL import Image

    pixels = picture()
    chw = np.ascontiguousarray(pixels.transpose(2, 0, 1))
    from_numpy = library.from_numpy  # type: ignore[attr-defined]
    img = {
        "pil": lambda: Image.fromarray(pixels),
        "uint8": lambda: from_numpy(chw),
        "float32": lambda: from_numpy(chw.astype(np.float32) / np.float32(255)),
        "batch": lambda: from_numpy(np.stack([chw, chw[::-1]]).astype(np.float32) / np.float32(255)),
    }[kind]()
    names = {name: getattr(library, name) for name in ("float32", "float64", "int32", "uint8")}
    mode = functional.InterpolationMode  # type: ignore[attr-defined]
    bound = 255 if kind in ("pil", "uint8") else 1.0
    result = eval(call, {"F": functional, "T": classes, "img": img, "M": lambda name: mode[name], "BOUND": bound, **names})
    return result.numpy() if hasattr(result, "numpy") else np.asarray(result)
