"""The composition root: settings become open parts, and open parts a box that runs missions."""
