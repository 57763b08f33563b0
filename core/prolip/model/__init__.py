"""ProLIP's network: a ViT behind [CLS] and [UNC], a text transformer before [UNC] and [CLS] (MATH.md §9)."""
