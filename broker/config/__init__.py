"""Configuration keys, the parsing of their values, and the layers of a broker's configuration."""
