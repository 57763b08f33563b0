"""How long hypothesis looks for what breaks a claim, on machines of any speed."""

from hypothesis import settings

settings.register_profile("penumbra", deadline=None, max_examples=40, database=None)
settings.load_profile("penumbra")
