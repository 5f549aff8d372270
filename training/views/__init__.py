"""Pages of training, one file each."""
