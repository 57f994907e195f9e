"""Layers that add chance: where there is none. What they do while they train is in test_layer_chance.py."""

TABLE = """
Dropout() | t(2, 3) | eval
Dropout(0.25, True) | t(2, 3) | eval
Dropout(0) | t(2, 3)
Dropout(p=1.0) | t(2, 3)
Dropout(1.5) ! ValueError
Dropout(-1) ! ValueError
Dropout1d() | t(2, 3, 4) | eval
Dropout1d(1.0, inplace=True) | t(2, 3, 4)
Dropout2d(0.5, inplace=True) | t(2, 3, 2, 2) | eval
Dropout2d(0.0) | t(2, 3, 2, 2)
Dropout3d(p=0.2) | t(1, 2, 2, 2, 2) | eval
Dropout3d(1.0) | t(1, 2, 2, 2, 2)
AlphaDropout(0.1) | t(2, 3) | eval
AlphaDropout(0.0, inplace=True) | t(2, 3)
FeatureAlphaDropout() | t(2, 3, 4) | eval
FeatureAlphaDropout(0.0, True) | t(2, 3, 4)
GaussianNoise(0.5) ~ lambda x: x | t(3) | eval
GaussianNoise(0) ~ lambda x: x | t(3)
"""
