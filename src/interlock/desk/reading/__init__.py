"""Reading what there is: listings, details, progress, prompts, and ids as people write them."""
