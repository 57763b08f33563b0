"""ProLIP: images and texts as Gaussians; its network, quantities and training (MATH.md §9)."""
