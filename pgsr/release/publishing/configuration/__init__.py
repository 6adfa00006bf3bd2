"""What configurations have in common: a TOML file, how its keys are declared, checked and read.

| file       | what it does                                                                                         |
|------------|------------------------------------------------------------------------------------------------------|
| `sources`  | the keys that say where the rows of a table are                                                      |
| `declared` | how a declared table checks a file, all errors at once, completes it, and becomes a JSON schema      |
| `forms`    | what one value has to look like, and what is said of one that does not                               |
| `toml`     | a file into values, and values as TOML writes them                                                   |
"""
