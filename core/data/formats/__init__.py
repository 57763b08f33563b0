"""Every format that is read and written, by its name; and what a person is told before an import or an export.

`recognise` names the format of a file or folder, `preview` shows its first rows, `lost` lists what an export could not
hold, `write` makes the export beside its place and puts it there whole. No database is known here and nothing is
fetched: a record's path may be an address.
"""

from core.data.formats.base import Again, Format, Payload, Preview, Written
from core.data.formats.previewing import preview
from core.data.formats.table import FORMATS, recognise
from core.data.formats.writing import lost, write

__all__ = ["FORMATS", "Again", "Format", "Payload", "Preview", "Written", "lost", "preview", "recognise", "write"]
