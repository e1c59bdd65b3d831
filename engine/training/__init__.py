"""How a draft head is made for a model that has none. Needs PyTorch, which only the functions that compute import.

Importing this package imports no PyTorch.
"""
