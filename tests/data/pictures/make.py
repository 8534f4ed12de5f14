"""Writes the files in this folder, small images by Pillow and arrays by NumPy: python3 make.py (needs python3-pil, python3-numpy)."""

import numpy as np
from PIL import Image

draw = np.random.default_rng(1)
grey, colour = draw.integers(0, 256, (6, 5), np.uint8), draw.integers(0, 256, (9, 16, 3), np.uint8)
Image.fromarray(grey).save("grey.png")
Image.fromarray(colour).save("colour.png")
Image.fromarray(draw.integers(0, 256, (4, 4, 4), np.uint8)).save("transparent.png")
Image.fromarray(colour).quantize(7).save("palette.png")
Image.fromarray((grey * 256).astype(np.int32)).save("deep.png")
Image.fromarray(grey).save("grey.jpg", quality=85)
Image.fromarray(colour).save("colour.jpg", quality=85)
Image.fromarray(colour).save("progressive.jpg", quality=70, progressive=True, subsampling=0)
images, labels = draw.integers(0, 256, (4, 2, 2), np.uint8), np.array([0, 1, 2, 1])
np.savez_compressed("images.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
