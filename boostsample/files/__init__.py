"""Files that we write: atomic, with a checksum and a format version; never pickle."""
