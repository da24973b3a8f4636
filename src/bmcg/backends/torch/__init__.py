"""The operations on tensors of PyTorch, for GPUs; nothing here is imported without being asked."""
