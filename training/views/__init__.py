"""The pages of training, one module a page."""
