"""What source code would do: Python by its syntax tree, other languages by what is beyond plain computing."""
