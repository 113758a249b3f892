# ps5/window_partition: cuts stretches of memory instead of squares.
# Named: rows_instead_of_squares
def window_partition(x, window_size):
    channels = x.shape[-1]
    return x.reshape(-1, window_size * window_size, channels)
