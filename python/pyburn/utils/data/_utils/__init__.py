"""torch.utils.data._utils."""
