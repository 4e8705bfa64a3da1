"""The data of the tutorial: short reviews, and what people on a platform answered about them."""
