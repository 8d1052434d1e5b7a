"""A run whose rows are spread over shards: what each shard holds, and how they are asked."""
