"""The compiled loop that finds where records of a CSV file end, and whether each is exactly what the dialect allows."""

from pgsr.machine.compilation import compiled

FINE, FIELDS, STRAY_QUOTE, AFTER_QUOTE, STRAY_ESCAPE, RETURN, NUL, BLANK, LONG = range(9)
"""The fault of the record that begins at `end`."""

START, PLAIN, QUOTED, QUOTE_SEEN, ESCAPED, RETURNED = range(6)
"""Where in a field the walk is: before it, inside, inside quotes, after a quote or an escape in them, after CR."""


@compiled
def scan_records(block, delimiter, quote, escape, n_fields, longest):
    """Walk over `block`, whose first byte begins a record; return (fault, end, n_found).

    A record ends with LF or CRLF outside quotes. `end` is where the last complete and faultless record ends, and
    `n_found` how many fields it has. With `n_fields` 0 any number will do. `quote` is -1 where nothing is quoted, and
    `escape` equals `quote` where a quote sign inside quotes is doubled. No record has more than `longest` bytes.
    """
    state, fields, end, n_found = START, 1, 0, 0
    for i in range(len(block)):
        byte = block[i]
        if byte == 0:
            return NUL, end, n_found
        if state == QUOTED:
            if byte == quote:
                state = QUOTE_SEEN
            elif byte == escape:
                state = ESCAPED
            continue
        if state == ESCAPED:
            if byte != quote and byte != escape:  # noqa: PLR1714 (a tuple is slower here)
                return STRAY_ESCAPE, end, n_found
            state = QUOTED
            continue
        if state == RETURNED and byte != 10:
            return RETURN, end, n_found
        if byte == delimiter:
            state, fields = START, fields + 1
        elif byte == 10:
            if state == START and fields == 1:
                return BLANK, end, n_found
            if n_fields and fields != n_fields:
                return FIELDS, end, n_found
            if i + 1 - end > longest:
                return LONG, end, n_found
            state, n_found, fields, end = START, fields, 1, i + 1
        elif byte == 13:
            if state == START and fields == 1:
                return BLANK, end, n_found
            state = RETURNED
        elif state == QUOTE_SEEN:
            if byte != quote or escape != quote:
                return AFTER_QUOTE, end, n_found
            state = QUOTED
        elif byte == quote:
            if state != START:
                return STRAY_QUOTE, end, n_found
            state = QUOTED
        elif byte == escape:
            return STRAY_ESCAPE, end, n_found
        else:
            state = PLAIN
    return (LONG if len(block) - end > longest else FINE), end, n_found
