"""What is skipped in a corpus, or read with a guess, as it is counted in the sidecar."""

LONGEST_LINE = 16 * 1024 * 1024
"""A line longer than this is not an article; it is skipped, and never loaded whole."""

TOO_LONG = f"line longer than {LONGEST_LINE // 1024 // 1024} MB"
ARTICLE_TOO_LONG = f"article longer than {LONGEST_LINE // 1024 // 1024} MB"
NOT_UTF8 = "not valid UTF-8"
AS_WINDOWS_1252 = "read as Windows-1252 (not valid UTF-8)"
NOT_JSON = "not valid JSON"
NO_TEXT = "field missing or not text"
NOT_UNICODE = "text with half a surrogate pair"
