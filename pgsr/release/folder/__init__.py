"""The folder that is published: every file of it, how it is written and how it is read back.

| file                      | what it does                                                                           |
|---------------------------|----------------------------------------------------------------------------------------|
| `artefact`                | the names of the files                                                                 |
| `columns`                 | every column of every table in words; the three files that describe tables use it      |
| `released_tables`         | counts.parquet, counts.csv, measurement.parquet and regions.csv                        |
| `manifest`                | manifest.json: budget, noise, method, certificate and digests                          |
| `words`                   | what the fields of a manifest mean, in sentences                                       |
| `readme`                  | README.txt, from the manifest                                                          |
| `summary`                 | summary.html, from the manifest and the counts                                         |
| `datapackage`             | datapackage.json: the tables described for programs                                    |

Everything here is a function of public values: the terms, the noisy values and what was computed from them. So
`pgsr.release.checks.release_check` can write each description again and compare it byte by byte.
"""
