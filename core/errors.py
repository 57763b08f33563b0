"""What can go wrong, as one small tree; every message says what came and what to do.

PenumbraError
├── InputError            what the person gave cannot be used (command line: exit status 2)
│   ├── UnreadableImage   a file that is no image, is broken, or is over the size limit
│   ├── TooFewClasses     a project with fewer than two classes
│   └── UnknownName       a project, domain, score, person or class that does not exist
├── ModelError            a model that cannot be had or does not fit
│   ├── ModelUnavailable  offline, unknown name, wrong checksum
│   ├── NoLinearHead      a tower whose last step is not linear
│   └── FactorMismatch    curvature of another model or size
├── NotAllowed            a sign-in that was refused, or a role that may not do this
│   └── TooManyAttempts   sign-ins that failed too often for now
├── NotReady              a step that needs an earlier one (features before ranking)
└── Cancelled             the person stopped a job
"""

from datetime import datetime


class PenumbraError(Exception):
    """Root of everything Penumbra raises on purpose."""


class InputError(PenumbraError):
    """What the person gave cannot be used."""


class UnreadableImage(InputError):
    """A file that is no image, is broken, or is over the size limit."""


class TooFewClasses(InputError):
    """A project needs two classes or more."""


class UnknownName(InputError):
    """A project, domain, score, person or class that does not exist."""


class ModelError(PenumbraError):
    """A model that cannot be had or does not fit."""


class ModelUnavailable(ModelError):
    """Offline, unknown name, or wrong checksum."""


class NoLinearHead(ModelError):
    """A tower whose last step is not linear has no Kronecker posterior here."""


class FactorMismatch(ModelError):
    """Curvature factors that belong to another model or size."""


class NotAllowed(PenumbraError):
    """A sign-in that was refused, or a role that may not do this."""


class TooManyAttempts(NotAllowed):
    """Sign-ins that failed too often: none is looked at before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__("Too many attempts failed.")
        self.until = until


class NotReady(PenumbraError):
    """A step that needs an earlier one."""


class Cancelled(PenumbraError):
    """The person stopped the job."""
