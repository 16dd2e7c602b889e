"""Small general tools: errors, registries, paths, devices, progress, files, texts."""
