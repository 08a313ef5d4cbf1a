"""Examples in and out: files, tables and mappings become examples; records become files.

From the top down: ``loading`` makes examples of whatever the user gives; ``sources`` finds the rows, ``unscored`` those
that nobody scored, ``row_reader`` reads one, and ``raters`` makes one example of several people's; ``fields``,
``scales`` and ``cells`` know columns, scales and values; ``files``, ``delimited``, ``lines`` and ``labels`` read what
stands on the disk, and ``writing`` writes it. ``columns`` reads numbers without making examples.
"""

from active_critic.data.examples import Examples, check_examples, data_sha256, example_key, folds, group_of, split
from active_critic.data.fields import COLUMNS
from active_critic.data.loading import Items, for_aspect, iter_examples, read_examples, unread_score
from active_critic.data.rows import BadRow
from active_critic.data.scales import USUAL_SCALES
from active_critic.data.writing import RecordWriter, merge_record

__all__ = [
    "COLUMNS",
    "USUAL_SCALES",
    "BadRow",
    "Examples",
    "Items",
    "RecordWriter",
    "check_examples",
    "data_sha256",
    "example_key",
    "folds",
    "for_aspect",
    "group_of",
    "iter_examples",
    "merge_record",
    "read_examples",
    "split",
    "unread_score",
]
