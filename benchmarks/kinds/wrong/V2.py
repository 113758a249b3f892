# ps5/patchify: puts channels last within a patch.
# Named: channels_last_inside
def patchify(images, patch_size):
    p = patch_size
    batch, channels, height, width = images.shape
    x = images.reshape(batch, channels, height // p, p, width // p, p)
    x = x.permute(0, 2, 4, 3, 5, 1)  # (batch, rows, columns, p, p, channels)
    return x.reshape(batch, -1, p * p * channels)
