"""Layers, losses, optimisers and schedules to attack: a working construction and a working input of each."""

from __future__ import annotations

_IMAGE, _SIGNAL, _VOLUME, _ROWS, _SEQUENCE = "t(2, 4, 6, 6)", "t(2, 4, 8)", "t(1, 4, 4, 4, 4)", "t(3, 4)", "t(3, 2, 4)"

LAYERS: list[tuple[str, str]] = [
    ("nn.Linear(4, 3)", _ROWS),
    ("nn.Bilinear(4, 4, 2)", f"{_ROWS}, {_ROWS}"),
    *((f"nn.Conv{n}d(4, 2, 3, stride=1, padding=1, dilation=1, groups=2)", x) for n, x in ((1, _SIGNAL), (2, _IMAGE), (3, _VOLUME))),
    *(
        (f"nn.ConvTranspose{n}d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=1, dilation=1)", x)
        for n, x in ((1, _SIGNAL), (2, _IMAGE), (3, _VOLUME))
    ),
    *(
        (f"nn.{kind}Pool{n}d(2, stride=2, padding=0)", x)
        for kind in ("Max", "Avg")
        for n, x in ((1, _SIGNAL), (2, _IMAGE), (3, _VOLUME))
    ),
    *(
        (f"nn.Adaptive{kind}Pool{n}d(2)", x)
        for kind in ("Max", "Avg")
        for n, x in ((1, _SIGNAL), (2, _IMAGE), (3, _VOLUME))
    ),
    ("nn.MaxUnpool2d(2, stride=2, padding=0)", "t(2, 4, 3, 3), index(2, 4, 3, 3, below=36)"),
    ("nn.FractionalMaxPool2d(2, output_size=3)", _IMAGE),
    ("nn.FractionalMaxPool3d(2, output_ratio=0.5)", _VOLUME),
    ("nn.LPPool2d(2.0, 2, stride=2)", _IMAGE),
    ("nn.Unfold(2, dilation=1, padding=0, stride=1)", _IMAGE),
    ("nn.Fold((4, 4), 2, dilation=1, padding=0, stride=2)", "t(2, 8, 4)"),
    *((f"nn.{kind}Pad{n}d(1)", x) for kind in ("Reflection", "Replication", "Zero", "Circular") for n, x in ((1, _SIGNAL), (2, _IMAGE))),
    ("nn.ConstantPad2d((1, 2, 0, 1), 0.5)", _IMAGE),
    *((f"nn.{kind}Norm{n}d(4, eps=1e-5, momentum=0.1)", x) for kind in ("Batch", "Instance") for n, x in ((1, _SIGNAL), (2, _IMAGE))),
    ("nn.LayerNorm((4,), eps=1e-5)", _SEQUENCE),
    ("nn.RMSNorm((4,))", _SEQUENCE),
    ("nn.GroupNorm(2, 4)", _IMAGE),
    ("nn.LocalResponseNorm(2, alpha=1e-4, beta=0.75, k=1.0)", _IMAGE),
    ("nn.Embedding(5, 3, padding_idx=1, max_norm=1.0)", "index(4, 2, below=5)"),
    ("nn.EmbeddingBag(5, 3, mode='mean')", "index(4, 2, below=5)"),
    *((f"nn.{kind}(4, 3, 2, bidirectional=True, dropout=0.1)", _SEQUENCE) for kind in ("RNN", "GRU", "LSTM")),
    ("nn.LSTM(4, 3, proj_size=2, batch_first=True)", _SEQUENCE),
    *((f"nn.{kind}Cell(4, 3)", _ROWS) for kind in ("RNN", "GRU", "LSTM")),
    ("nn.MultiheadAttention(4, 2, dropout=0.0, add_bias_kv=True)", f"{_SEQUENCE}, {_SEQUENCE}, {_SEQUENCE}"),
    ("nn.TransformerEncoderLayer(4, 2, 8)", _SEQUENCE),
    ("nn.TransformerDecoderLayer(4, 2, 8)", f"{_SEQUENCE}, {_SEQUENCE}"),
    ("nn.Dropout(0.5)", _IMAGE),
    ("nn.AlphaDropout(0.5)", _IMAGE),
    ("nn.Upsample(scale_factor=2.0, mode='bilinear', align_corners=False)", _IMAGE),
    ("nn.Upsample(size=(3, 5), mode='nearest')", _IMAGE),
    ("nn.PixelShuffle(2)", _IMAGE),
    ("nn.PixelUnshuffle(2)", _IMAGE),
    ("nn.ChannelShuffle(2)", _IMAGE),
    ("nn.Flatten(1, -1)", _IMAGE),
    ("nn.Unflatten(1, (2, 2))", _IMAGE),
    ("nn.PReLU(4, init=0.25)", _IMAGE),
    ("nn.Threshold(0.1, 20.0)", _IMAGE),
    ("nn.Hardtanh(-1.0, 1.0)", _IMAGE),
    ("nn.GLU(dim=1)", _IMAGE),
    ("nn.Softmax(dim=1)", _IMAGE),
    ("nn.CosineSimilarity(dim=1, eps=1e-8)", f"{_ROWS}, {_ROWS}"),
    ("nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)", f"{_ROWS}, index(3, below=4)"),
    ("nn.NLLLoss(ignore_index=1)", f"{_ROWS}, index(3, below=4)"),
    ("nn.CTCLoss(blank=0)", "t(6, 2, 4), index(2, 3, below=4), tensor([6, 6]), tensor([2, 3])"),
    ("nn.MultiMarginLoss(p=1, margin=1.0)", f"{_ROWS}, index(3, below=4)"),
    ("nn.MultiLabelMarginLoss()", f"{_ROWS}, index(3, 4, below=4)"),
    ("nn.HuberLoss(delta=1.0)", f"{_ROWS}, {_ROWS}"),
    ("nn.TripletMarginLoss(margin=1.0, p=2.0, swap=True)", f"{_ROWS}, {_ROWS}, {_ROWS}"),
    ("nn.GaussianNLLLoss(eps=1e-6)", f"{_ROWS}, {_ROWS}, positive(3, 4)"),
    ("nn.PoissonNLLLoss(full=True)", f"{_ROWS}, positive(3, 4)"),
    ("nn.AdaptiveLogSoftmaxWithLoss(4, 8, cutoffs=[2, 5], div_value=2.0)", f"{_ROWS}, index(3, below=8)"),
]  # fmt: skip

OPTIMIZERS: list[str] = [
    "optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.0, weight_decay=0.1, nesterov=False)",
    "optim.Adam(p, lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1, amsgrad=True)",
    "optim.AdamW(p, lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)",
    "optim.Adamax(p, lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)",
    "optim.NAdam(p, lr=0.1, betas=(0.9, 0.99), momentum_decay=0.1)",
    "optim.RAdam(p, lr=0.1, betas=(0.9, 0.99))",
    "optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.1)",
    "optim.Adadelta(p, lr=0.1, rho=0.9)",
    "optim.Adafactor(p, lr=0.1, beta2_decay=-0.8, d=1.0)",
    "optim.RMSprop(p, lr=0.1, alpha=0.9, momentum=0.1, centered=True)",
    "optim.Rprop(p, lr=0.1, etas=(0.5, 1.2), step_sizes=(1e-6, 50))",
    "optim.ASGD(p, lr=0.1, lambd=1e-4, alpha=0.75, t0=10.0)",
    "optim.LBFGS(p, lr=0.1, max_iter=3, history_size=3)",
]

SCHEDULES: list[str] = [
    "optim.lr_scheduler.StepLR(o, 2, gamma=0.5)",
    "optim.lr_scheduler.MultiStepLR(o, [1, 3], gamma=0.5)",
    "optim.lr_scheduler.ExponentialLR(o, 0.9)",
    "optim.lr_scheduler.CosineAnnealingLR(o, 5, eta_min=0.0)",
    "optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2, T_mult=2)",
    "optim.lr_scheduler.LinearLR(o, start_factor=0.5, end_factor=1.0, total_iters=5)",
    "optim.lr_scheduler.PolynomialLR(o, total_iters=5, power=1.0)",
    "optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=10, pct_start=0.3)",
    "optim.lr_scheduler.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=2, cycle_momentum=False)",
    "optim.lr_scheduler.ReduceLROnPlateau(o, patience=1, factor=0.5)",
]
