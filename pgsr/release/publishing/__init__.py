"""What releases and populations have in common: a folder that is published, and checked by anybody.

| file            | what it does                                                                                    |
|-----------------|-------------------------------------------------------------------------------------------------|
| `configuration` | what a user writes: a file in TOML, its keys, and where the rows of tables are                  |
| `places`        | which folder is made, that it is not there yet, and that one process makes it                   |
| `folder`        | the hidden folder in which it is made, until it gets its name in one step                       |
| `digests`       | SHA256SUMS, and the digest that stands for the whole folder                                     |
| `signature`     | the publisher's keys, signing and verifying                                                     |
| `console`        | faults of the machine in sentences, what a failure costs, and listeners who hang up             |
| `progress`      | how far a command is                                                                            |
| `check_base`    | a check: steps that find something each, files, digests and signature                           |
| `findings`      | what a check found                                                                              |
| `formulas`      | texts that spreadsheet programs would compute, which no published table holds                  |
| `charts`        | bar charts of pages that are the same, byte by byte, on every machine                           |
| `errors`        | what is raised, and several faults at once                                                      |

Nothing here knows what is in the folder.
"""
