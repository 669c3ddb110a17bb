"""How results are shown: numbers in words, tables for the terminal, and pages of HTML."""
