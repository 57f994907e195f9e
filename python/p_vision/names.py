"""The public names of the package and the modules that define them. `tools/generate.py` writes the stub `__init__.pyi` from them."""

_NAMES = {
    "": """
        activations applications callbacks config constraints datasets dtype_policies initializers layers losses metrics
        mixed_precision models ops optimizers preprocessing random regularizers saving tree utils
    """,
    "backend": "backend",
    "batches": "PyDataset",
    "callbacks": """
        BackupAndRestore CSVLogger Callback EarlyStopping History LambdaCallback LearningRateScheduler ModelCheckpoint
        ReduceLROnPlateau RemoteMonitor SwapEMAWeights TensorBoard TerminateOnNaN
    """,
    "constraints": "Constraint MaxNorm MinMaxNorm NonNeg UnitNorm",
    "dtype_policies": "DTypePolicy",
    "initializers": """
        Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity Initializer LecunNormal LecunUniform Ones Orthogonal
        RandomNormal RandomUniform TruncatedNormal VarianceScaling Zeros
    """,
    "input": "Input InputLayer",
    "input_spec": "InputSpec",
    "layer": "Layer",
    "layers.activation": "ELU LeakyReLU PReLU ReLU Softmax",
    "layers.attention": "AdditiveAttention Attention GroupQueryAttention MultiHeadAttention",
    "layers.colour": """
        AutoContrast Equalization RandomColorDegeneration RandomColorJitter RandomErasing RandomGaussianBlur RandomGrayscale
        RandomHue RandomInvert RandomPosterization RandomSaturation RandomSharpness Solarization
    """,
    "layers.conv_lstm": "ConvLSTM1D ConvLSTM2D ConvLSTM3D",
    "layers.convolution": "Conv1D Conv2D Conv3D DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D",
    "layers.dense": "Activation Dense Embedding Lambda Masking Rescaling",
    "layers.dropout": """
        ActivityRegularization AlphaDropout Dropout GaussianDropout GaussianNoise SpatialDropout1D SpatialDropout2D
        SpatialDropout3D
    """,
    "layers.hashing": "HashedCrossing Hashing",
    "layers.lookup": "CategoryEncoding Discretization IntegerLookup StringLookup",
    "layers.merging": "Add Average Concatenate Dot Maximum Minimum Multiply Subtract",
    "layers.mixing": "AugMix CutMix MixUp RandAugment",
    "layers.normalization": "BatchNormalization GroupNormalization LayerNormalization RMSNormalization UnitNormalization",
    "layers.pooling": """
        AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D
        AdaptiveMaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D GlobalAveragePooling1D GlobalAveragePooling2D
        GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D MaxPooling1D MaxPooling2D MaxPooling3D
    """,
    "layers.augmentation": "RandomBrightness RandomContrast RandomCrop RandomFlip RandomRotation RandomShear RandomTranslation RandomZoom",
    "layers.preprocessing": "CenterCrop Normalization Resizing",
    "layers.recurrent": "Bidirectional GRU LSTM SimpleRNN TimeDistributed",
    "layers.recurrent_cells": "GRUCell LSTMCell RNN SimpleRNNCell StackedRNNCells",
    "layers.shaping": """
        Cropping1D Cropping2D Cropping3D Flatten Permute RepeatVector Reshape UpSampling1D UpSampling2D UpSampling3D
        ZeroPadding1D ZeroPadding2D ZeroPadding3D
    """,
    "layers.text_vectorization": "TextVectorization",
    "layers.transposed_convolution": "Conv1DTranspose Conv2DTranspose Conv3DTranspose",
    "layers.wrapping": "EinsumDense Pipeline SpectralNormalization Wrapper",
    "losses": """
        BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy
        CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge Huber KLDivergence LogCosh Loss
        MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson
        SparseCategoricalCrossentropy SquaredHinge Tversky
    """,
    "metrics": """
        AUC BinaryAccuracy BinaryIoU CategoricalAccuracy F1Score FBetaScore IoU Mean MeanIoU MeanMetric Metric Precision
        R2Score Recall RootMeanSquaredError SparseCategoricalAccuracy Sum TopKCategoricalAccuracy
    """,
    "model": "Model as_model",
    "optimizers": """
        Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer Muon Nadam Optimizer RMSprop SGD
        schedules
    """,
    "optimizers.schedules": """
        CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay LearningRateSchedule PiecewiseConstantDecay
        PolynomialDecay
    """,
    "random_seed": "set_random_seed",
    "regularizers": "L1 L1L2 L2 OrthogonalRegularizer Regularizer",
    "onnx": "OnnxModel load_onnx",
    "saving": "clone_model load_model model_from_json save_model",
    "scopes": "device name_scope version",
    "sequential": "Sequential",
    "symbolic.drawing": "BuiltLayer PlainLayer",
    "symbolic.operation": "Operation",
    "symbolic.symbol": "KerasTensor",
    "variables": "Variable",
    "zoo": """
        alexnet convnext_base convnext_large convnext_small convnext_tiny densenet121 densenet161 densenet169 densenet201
        efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7
        efficientnet_v2_l efficientnet_v2_m efficientnet_v2_s googlenet inception_v3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small
        regnet_x_16gf regnet_x_1_6gf regnet_x_32gf regnet_x_3_2gf regnet_x_400mf regnet_x_800mf regnet_x_8gf regnet_y_128gf
        regnet_y_16gf regnet_y_1_6gf regnet_y_32gf regnet_y_3_2gf regnet_y_400mf regnet_y_800mf regnet_y_8gf resnet101 resnet152
        resnet18 resnet34 resnet50 resnext101_32x8d resnext101_64x4d resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0
        shufflenet_v2_x1_5 shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 swin_b swin_s swin_t swin_v2_b swin_v2_s swin_v2_t unet vgg11
        vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn vit_b_16 vit_b_32 vit_h_14 vit_l_16 vit_l_32 wide_resnet101_2
        wide_resnet50_2
    """,
}
MODULES = _NAMES.pop("").split()
PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
