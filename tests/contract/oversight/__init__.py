"""What watches over the work: silent workers, open questions, over both databases."""
