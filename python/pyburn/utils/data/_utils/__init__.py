"""torch.utils.data._utils's names."""
