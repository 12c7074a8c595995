"""What the values of arguments mean: URLs, paths, recipients, amounts, requests within texts, disguised spellings."""
