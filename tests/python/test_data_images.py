"""Image folders and transforms of images: torchvision's results, and random ones that follow the sample."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn.data import DataLoader, DatasetFolder, ImageFolder, ImageFolderDataset

Image = pytest.importorskip("PIL.Image", reason="images need Pillow: pip install Pillow")

from pyburn.data import image_files  # noqa: E402
from pyburn.data import transforms as T  # noqa: E402
from pyburn.data.transforms import v2  # noqa: E402

F = T.functional
HERE = Path(__file__).parent
GOLDEN = json.loads(gzip.decompress((HERE.parent / "golden" / "transforms.json.gz").read_bytes()))


def neighbour(name: str):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


cases = neighbour("transform_cases")
signal_cases = neighbour("signal_cases")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes; one with a folder in it, a file of another kind, and a picture in shades of grey."""
    for name, colour in {"cat/b.png": 10, "cat/a.jpg": 60, "cat/deep/c.png": 90, "dog/x.PNG": 200}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (12, 8), (colour, 0, 255 - colour)).save(path)
    Image.new("L", (12, 8), 128).save(tmp_path / "dog" / "grey.png")
    (tmp_path / "dog" / "notes.txt").write_text("no picture")
    return tmp_path


def test_a_folder_per_class(folder: Path) -> None:
    data = ImageFolder(folder)
    assert data.classes == ["cat", "dog"]
    assert data.class_to_idx == {"cat": 0, "dog": 1}
    assert [os.path.relpath(path, folder) for path, _ in data.samples] == [
        "cat/a.jpg",
        "cat/b.png",
        "cat/deep/c.png",
        "dog/grey.png",
        "dog/x.PNG",
    ]
    assert data.targets == [0, 0, 0, 1, 1]
    assert data.imgs is data.samples
    image, label = data[3]
    assert (image.mode, image.size, label) == ("RGB", (12, 8), 1)
    assert "Number of datapoints: 5" in repr(data)
    changed = ImageFolder(folder, transform=T.ToTensor(), target_transform=lambda y: -y)
    assert changed[4][0].shape == (3, 8, 12)
    assert changed[4][1] == -1
    assert len(ImageFolder(folder, is_valid_file=lambda path: path.endswith("png"))) == 3


def test_folders_that_do_not_fit(folder: Path, tmp_path: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes empty. Supported extensions"):
        ImageFolder(folder)
    assert ImageFolder(folder, allow_empty=True).classes == ["cat", "dog", "empty"]
    (tmp_path / "void").mkdir()
    with pytest.raises(FileNotFoundError, match="any class folder"):
        ImageFolder(tmp_path / "void")
    with pytest.raises(ValueError, match="at the same time"):
        DatasetFolder(folder, str)
    text = DatasetFolder(folder, lambda path: Path(path).read_text(), extensions=(".txt",), allow_empty=True)
    assert list(text) == [("no picture", 1)]


def test_damaged_images_raise_an_error(folder: Path) -> None:
    whole = (folder / "cat" / "a.jpg").read_bytes()
    for cut in (whole[: len(whole) // 2], whole[:3], b"", b"\xff\xd8" + b"\xff" * 50):
        (folder / "cat" / "a.jpg").write_bytes(cut)
        with pytest.raises(OSError, match=r"cat.a\.jpg"):  # of many one is damaged: which?
            ImageFolder(folder)[0]
    for content, error in ((b"no picture", Image.UnidentifiedImageError), (_png()[:40], OSError)):
        (folder / "mask.png").write_bytes(content)
        for read in (image_files.load_image, image_files.load_mask):
            with pytest.raises(error, match=r"mask\.png"):
                read(folder / "mask.png")


def _png() -> bytes:
    file = io.BytesIO()
    Image.new("L", (9, 9)).save(file, "PNG")
    return file.getvalue()


def test_small_photographs_are_what_pillow_reads(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (37, 29, 3), dtype=np.uint8)
    for options in ({"quality": 90}, {"quality": 30, "subsampling": 0}, {"progressive": True}, {"exif": Image.Exif().tobytes()}):
        Image.fromarray(pixels).save(tmp_path / "x.jpg", **options)
        data = (tmp_path / "x.jpg").read_bytes()
        assert image_files._decoded_jpeg(Image, data) is not None
        expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        assert np.array_equal(np.asarray(image_files.load_image(tmp_path / "x.jpg")), expected)
    for mode in ("L", "CMYK"):
        Image.fromarray(pixels).convert(mode).save(tmp_path / "x.jpg")
        assert image_files._decoded_jpeg(Image, (tmp_path / "x.jpg").read_bytes()) is None
        expected = np.asarray(Image.open(tmp_path / "x.jpg").convert("RGB"))
        assert np.array_equal(np.asarray(image_files.load_image(tmp_path / "x.jpg")), expected)


def test_annotations_of_burn(folder: Path) -> None:
    whole = ImageFolderDataset.classification(folder)
    assert whole.classes == ["cat", "dog"]
    assert [label for _, label in whole] == [0, 0, 0, 1, 1]
    pictures = [folder / "cat" / "a.jpg", folder / "cat" / "b.png"]
    assert [y for _, y in ImageFolderDataset.classification_items(zip(pictures, ["b", "a"]), ["a", "b"])] == [1, 0]
    several = ImageFolderDataset.multilabel(zip(pictures, [["a", "c"], []]), ["a", "b", "c"])
    assert [y.tolist() for _, y in several] == [[1, 0, 1], [0, 0, 0]]
    with pytest.raises(ValueError, match="'d'"):
        ImageFolderDataset.multilabel(zip(pictures, [["d"], []]), ["a"])
    masks = [folder / "dog" / "grey.png"] * 2

    def both(image, mask):
        return T.ToTensor()(F.hflip(image)), F.pil_to_tensor(F.hflip(mask))

    images, targets = next(iter(DataLoader(ImageFolderDataset.segmentation(zip(pictures, masks), transforms=both), batch_size=2)))
    assert images.shape == (2, 3, 8, 12)
    assert targets.dtype == pyburn.uint8
    assert targets.unique().tolist() == [128]
    with pytest.raises(ValueError, match="one channel"):
        ImageFolderDataset.segmentation([(pictures[0], pictures[0])])[0]


def test_boxes_of_coco(folder: Path) -> None:
    file = folder / "boxes.json"
    content = {
        "images": [{"id": 7, "file_name": "cat/a.jpg"}, {"id": 9, "file_name": "dog/x.PNG"}],
        "categories": [{"id": 30, "name": "tail"}, {"id": 4, "name": "ear"}],
        "annotations": [
            {"image_id": 9, "bbox": [1, 2, 3.5, 4], "category_id": 30},
            {"image_id": 9, "bbox": [0, 0, 1, 1], "category_id": 4},
        ],
    }
    file.write_text(json.dumps(content))
    data = ImageFolderDataset.coco_detection(file, folder)
    assert data.classes == ["ear", "tail"]
    assert data[0][1]["boxes"].shape == (0, 4)
    assert data[1][0].size == (12, 8)
    assert data[1][1]["boxes"].tolist() == [[1, 2, 3.5, 4], [0, 0, 1, 1]]
    assert data[1][1]["labels"].tolist() == [1, 0]
    damaged = [
        "{",
        "[]",
        "[" * 100000,
        json.dumps({**content, "annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1], "category_id": 4}]}),
        json.dumps({**content, "annotations": [{"image_id": 9, "bbox": [0, 0, 1], "category_id": 4}]}),
        json.dumps({**content, "annotations": [{"image_id": 9, "bbox": [0, 0, 1, float("nan")], "category_id": 4}]}),
        json.dumps({**content, "images": [{"id": 7, "file_name": "../secret.jpg"}, {"id": 9, "file_name": "x"}]}),
        json.dumps({**content, "categories": [{"id": 30}]}),
    ]
    for text in damaged:
        file.write_text(text)
        with pytest.raises(pyburn.FormatError, match="coco"):
            ImageFolderDataset.coco_detection(file, folder)


def test_a_missing_pillow_raises_an_error() -> None:
    program = "import sys; sys.modules['PIL'] = None; from pyburn.data.image_files import load_image; load_image('x.png')"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install Pillow" in result.stderr


@pytest.mark.parametrize("row", GOLDEN["images"], ids=lambda row: f"{row['kind']}: {row['call']}")
def test_torchvision_says_the_same(row) -> None:
    made = cases.run(row["kind"], row["call"], pyburn, F, T)
    expected = np.array(row["values"], row["dtype"]).reshape(row["shape"])
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    difference = np.abs(made.astype(np.float64) - expected)
    if row["kind"] == "pil" or "normalize" in row["call"].lower():
        assert difference.max() <= 1e-6
    elif expected.dtype == np.uint8:  # sums in another order may round to the next value
        assert difference.max() <= 1
        assert (difference > 0).mean() <= 0.01
    else:
        assert difference.max() <= 2e-5


def test_goldens_cover_the_cases() -> None:
    assert [(row["kind"], row["call"]) for row in GOLDEN["images"]] == [tuple(case) for case in cases.CASES]
    assert [row["call"] for row in GOLDEN["signals"]] == signal_cases.CASES


def test_there_and_back() -> None:
    pixels = cases.picture()
    image = Image.fromarray(pixels)
    assert np.array_equal(np.asarray(F.to_pil_image(F.to_tensor(image))), pixels)
    assert np.array_equal(np.asarray(T.ToPILImage()(pixels)), pixels)
    assert F.to_tensor(pixels[:, :, 0]).shape == (1, 11, 9)
    for wrong in (3, "text", pyburn.ones(2, 2)):
        with pytest.raises(TypeError):
            F.to_tensor(wrong)
    with pytest.raises(TypeError, match="float tensor"):
        F.normalize(pyburn.ones(3, 2, 2, dtype=pyburn.uint8), [0.5], [0.5])
    with pytest.raises(ValueError, match="zero"):
        F.normalize(pyburn.ones(3, 2, 2), [0.5], [0.0])
    x = pyburn.ones(3, 2, 2)
    assert T.Normalize([0.5], [0.5])(x) is not x
    assert T.Normalize([0.5], [0.5], inplace=True)(x) is x


RANDOM = {
    "RandomCrop": lambda: T.RandomCrop(7, padding=2),
    "RandomResizedCrop": lambda: T.RandomResizedCrop(6),
    "RandomHorizontalFlip": lambda: T.RandomHorizontalFlip(),
    "RandomVerticalFlip": lambda: T.RandomVerticalFlip(),
    "RandomRotation": lambda: T.RandomRotation(40),
    "RandomAffine": lambda: T.RandomAffine(20, (0.2, 0.2), (0.7, 1.3), 15),
    "ColorJitter": lambda: T.ColorJitter(0.4, 0.4, 0.4, 0.2),
    "RandomGrayscale": lambda: T.RandomGrayscale(0.5),
    "GaussianBlur": lambda: T.GaussianBlur(3),
    "RandomApply": lambda: T.RandomApply([T.RandomRotation(50)], 0.7),
    "RandomOrder": lambda: T.RandomOrder([T.Pad(1), T.Resize((6, 6)), T.RandomRotation(50)]),
    "RandomChoice": lambda: T.RandomChoice([T.RandomRotation(10), T.ColorJitter(0.9)], [0.3, 0.7]),
    "RandAugment": lambda: T.RandAugment(),
    "AutoAugment": lambda: T.AutoAugment(T.AutoAugmentPolicy.SVHN),
    "AugMix": lambda: T.AugMix(),
    "ElasticTransform": lambda: T.ElasticTransform(20.0, 2.0),
    "RandomPerspective": lambda: T.RandomPerspective(0.6, p=0.9),
    "RandomPhotometricDistort": lambda: T.RandomPhotometricDistort(),
    "RandomResize": lambda: T.RandomResize(5, 9),
    "RandomZoomOut": lambda: T.RandomZoomOut(side_range=(1.0, 2.0)),
    "ScaleJitter": lambda: T.ScaleJitter((8, 8), (0.5, 1.5)),
    "JPEG": lambda: T.JPEG((20, 80)),
    "TrivialAugmentWide": lambda: T.TrivialAugmentWide(),
}


class Augmented:
    def __init__(self, transform, kind: str) -> None:
        self.transform = transform
        pixels = cases.picture()
        self.image = Image.fromarray(pixels) if kind == "pil" else pyburn.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> list:
        made = self.transform(self.image)
        return np.asarray(made).tolist() if not isinstance(made, pyburn.Tensor) else made.tolist()


@pytest.mark.parametrize("kind", ["pil", "tensor"])
@pytest.mark.parametrize("name", RANDOM)
def test_random_transforms_follow_the_sample(name: str, kind: str) -> None:
    def epoch(**how):
        pyburn.manual_seed(3)
        return list(DataLoader(Augmented(RANDOM[name](), kind), batch_size=None, collate_fn=lambda x: x, **how))

    samples = epoch()
    assert len({json.dumps(sample) for sample in samples}) > 1
    assert epoch(num_workers=3) == samples
    assert epoch(num_workers=2, multiprocessing_context="fork") == samples


def test_random_transforms_follow_the_seed() -> None:
    image = Image.fromarray(cases.picture())
    transform = T.Compose([T.RandomResizedCrop(6), T.ColorJitter(0.5), T.ToTensor(), T.RandomErasing(1.0, value="random")])

    def made():
        pyburn.manual_seed(7)
        return transform(image).tolist()

    assert made() == made()


def test_crops_and_erased_rectangles_have_their_sizes() -> None:
    pyburn.manual_seed(0)
    image = pyburn.rand(3, 20, 30)
    places = set()
    for _ in range(200):
        top, left, height, width = T.RandomCrop.get_params(image, (8, 9))
        assert (height, width) == (8, 9)
        assert 0 <= top <= 12
        assert 0 <= left <= 21
        places.add((top, left))
        top, left, height, width = T.RandomResizedCrop.get_params(image, (0.08, 1.0), (3 / 4, 4 / 3))
        assert 0 <= top <= top + height <= 20
        assert 0 <= left <= left + width <= 30
        assert 0.6 < width / height < 1.7
    assert len(places) > 100
    with pytest.raises(ValueError, match="larger than input image size"):
        T.RandomCrop(25)(image)
    assert T.RandomCrop(25, pad_if_needed=True)(image).shape == (3, 25, 25)
    shares = [float((T.RandomErasing(1.0, value=5.0)(image) == 5.0).float().mean()) for _ in range(50)]
    assert all(0.01 < share < 0.36 for share in shares)
    assert sum(float((T.RandomErasing(0.5, value=5.0)(image) == 5.0).any()) for _ in range(200)) in range(70, 130)
    assert T.RandomErasing(0.0)(image) is image


def test_mixed_batches() -> None:
    pyburn.manual_seed(1)
    images = pyburn.arange(4).reshape(4, 1, 1, 1).float().expand(4, 1, 10, 12).clone()
    labels = pyburn.tensor([0, 1, 2, 0])
    for mixer in (T.MixUp(alpha=0.8, num_classes=3), T.CutMix(num_classes=3)):
        for _ in range(20):
            mixed, shares = mixer(images, labels)
            assert mixed.shape == images.shape
            assert np.allclose(shares.sum(1).numpy(), 1, atol=1e-6)
            # Image 1 is made of 1 and 0, in the shares of its classes.
            assert np.isclose(float(mixed[1].mean()), float(shares[1, 1]), atol=1e-5)
    soft = T.MixUp()([images, pyburn.one_hot(labels, 3).float()])
    assert isinstance(soft, list)
    assert soft[1].shape == (4, 3)
    with pytest.raises(ValueError, match="num_classes"):
        T.MixUp()(images, labels)
    loader = DataLoader(
        [(images[0], 1), (images[1], 0)], batch_size=2, collate_fn=lambda s: T.CutMix(num_classes=2)(pyburn.data.default_collate(s))
    )
    assert next(iter(loader))[1].shape == (2, 2)


def test_what_is_printed() -> None:
    text = repr(T.Compose([T.RandomCrop(32, padding=4), T.ToTensor(), T.Normalize((0.5,), (0.5,))]))
    assert text.splitlines() == [
        "Compose(",
        "    RandomCrop(size=(32, 32), padding=4, pad_if_needed=False, fill=0, padding_mode=constant)",
        "    ToTensor()",
        "    Normalize(mean=(0.5,), std=(0.5,))",
        ")",
    ]


@pytest.mark.skipif("PYBURN_DATA" not in os.environ, reason="PYBURN_DATA is not set")
def test_cifar10_in_folders() -> None:
    data = ImageFolder(Path(os.environ["PYBURN_DATA"]) / "cifar10_folder" / "test", transform=T.ToTensor())
    assert len(data) == 500
    assert len(data.classes) == 10
    images, labels = next(iter(DataLoader(data, batch_size=64, shuffle=True, num_workers=2)))
    assert images.shape == (64, 3, 32, 32)
    assert 0 <= float(images.min()) < float(images.max()) <= 1
    assert labels.dtype == pyburn.int64


def test_names_of_the_second_version() -> None:
    steps = v2.Compose([v2.ToImage(), v2.RGB(), v2.CenterCrop(6), v2.ToDtype(pyburn.float32, scale=True), v2.Identity()])
    picture = Image.fromarray(cases.picture())
    made = steps(picture)
    assert tuple(made.shape) == (3, 6, 6)
    assert pyburn.allclose(made, T.ToTensor()(T.CenterCrop(6)(picture)), atol=1e-6)
    assert v2.ToDtype(pyburn.float64)("text") == "text"
    assert v2.UniformTemporalSubsample(3)(pyburn.arange(5).reshape(5, 1, 1, 1)).flatten().tolist() == [0, 2, 4]


def test_whitening_and_noise() -> None:
    images = pyburn.rand(4, 1, 2, 3)
    whitened = T.LinearTransformation(pyburn.eye(6) * 2, pyburn.full((6,), 0.5))(images)
    assert pyburn.allclose(whitened, 2 * (images - 0.5), atol=1e-6)
    with pytest.raises(ValueError, match="square"):
        T.LinearTransformation(pyburn.ones(2, 3), pyburn.ones(2))
    pyburn.manual_seed(0)
    noisy = T.GaussianNoise(sigma=0.1)(pyburn.full((1, 64, 64), 0.5))
    assert 0.09 < float(noisy.std()) < 0.11 and abs(float(noisy.mean()) - 0.5) < 0.01
    level = T.GaussianNoise(mean=0.1, sigma=0.0)(pyburn.full((1, 2, 2), 100, dtype=pyburn.uint8))
    assert level.dtype == pyburn.uint8 and level.flatten().tolist() == [126] * 4
    with pytest.raises(TypeError, match="ToImage"):
        T.GaussianNoise()(Image.fromarray(cases.picture()))


def test_policies_change_as_their_strengths_say() -> None:
    picture = pyburn.from_numpy(np.ascontiguousarray(cases.picture().transpose(2, 0, 1)))
    mixed = T.AugMix(severity=1, mixture_width=2, chain_depth=1, all_ops=False)
    for seed in range(20):
        pyburn.manual_seed(seed)
        assert mixed(picture).dtype == pyburn.uint8
    with pytest.raises(ValueError, match="severity"):
        T.AugMix(severity=11)
