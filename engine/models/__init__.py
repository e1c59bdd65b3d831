"""How a model gets into a model folder: fetch, read, build graphs, quantize."""
