"""What the pages share: state, words, looks, charts, and the routes for images."""
