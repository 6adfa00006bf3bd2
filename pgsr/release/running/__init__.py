"""The surroundings of a run: what it needs of the machine, and what it says to the person who runs it.

| file          | what it does                                                                                      |
|---------------|---------------------------------------------------------------------------------------------------|
| `preflight`   | refuses, before anything is charged, a release for which the place, memory or disk do not suffice |
| `places`      | lets one process at a time make a folder, and puts what is written on the disk                    |
| `private_log` | keeps what is not for publication in a file that only its owner can read                          |
| `progress`    | shows how far a command is                                                                        |
| `saying`      | turns errors of the operating system into sentences, and outlives a listener who hangs up         |
"""
