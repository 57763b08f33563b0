"""How long hypothesis looks for what breaks a claim, on machines of any speed."""

from hypothesis import Phase, settings

# What is drawn is small as it comes; making it smaller takes minutes where files are written.
# The same examples each time: whether a run passes may not depend on chance.
settings.register_profile(
    "penumbra",
    deadline=None,
    max_examples=25,
    database=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("penumbra")
