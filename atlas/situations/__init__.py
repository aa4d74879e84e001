"""The situations of the atlas: a YAML file each, which `atlas.situation` reads."""
