"""A folder that is published: its place, its name, its digests and signature, and what is said meanwhile.

| file            | what it does                                                                                    |
|-----------------|-------------------------------------------------------------------------------------------------|
| `places`        | which folder is made, by one process, and its hidden name until it gets its own in one step     |
| `digests`       | SHA256SUMS, and the digest that stands for the whole folder                                     |
| `signature`     | the publisher's keys, signing and verifying                                                     |
| `console`        | faults of the machine in sentences, what a failure costs, and listeners who hang up             |
| `progress`      | how far a command is                                                                            |
| `findings`      | what a check found                                                                              |
| `charts`        | bar charts of pages that are the same, byte by byte, on every machine                           |
| `errors`        | what is raised, and several faults at once                                                      |

Nothing here knows what is in the folder.
"""
