"""Small tools without an opinion: errors, registries, paths, devices, progress, files, texts."""
