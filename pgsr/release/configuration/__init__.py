"""The configuration of a release: the TOML file that a user writes, and what it means.

| file              | what it does                                                                                   |
|-------------------|------------------------------------------------------------------------------------------------|
| `release_config`  | `ReleaseConfig`: the terms, the tables and the places of a release, from a file or from Python |
| `example`         | the commented file that `pgsr release --example` prints                                        |
| `schema`          | every key of the file, declared once; `configuration.schema.json` is the same for editors      |

It knows the terms of a release and nothing of the folder that is published.
"""
