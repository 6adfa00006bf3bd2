"""The configuration of a release: the TOML file that a user writes, how it is declared, checked and read.

| file              | what it does                                                                                   |
|-------------------|------------------------------------------------------------------------------------------------|
| `release_config`  | `ReleaseConfig`: the terms, the tables and the places of a release, from a file or from Python |
| `example`         | the commented file that `pgsr release --example` prints                                        |
| `schema`          | every key of the file, declared once; `configuration.schema.json` is the same for editors      |
| `declared`        | how a declared table checks a file, all errors at once, and becomes a JSON schema              |
| `table_sections`  | the tables that say where rows are: [entities], [tuples], [groups], [regions], [limits]        |
| `sections`        | a TOML table, read key by key                                                                  |
| `forms`           | what one value has to look like, and what is said of one that does not                         |
| `toml`            | a file into values, and values as TOML writes them                                             |

It knows the terms of a release and nothing of the folder that is published. `pgsr.synthesis` declares and reads its own
files with the same parts.
"""
