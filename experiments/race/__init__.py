"""Time to a given test error, beside other libraries."""
