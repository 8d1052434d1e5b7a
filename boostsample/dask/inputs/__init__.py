"""Tables in parts that workers read: their rows, classes, bin edges and shards."""
