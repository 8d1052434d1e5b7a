"""Tables of results as text, Markdown, LaTeX, CSV and HTML."""
