"""A configuration to start from."""

EXAMPLE = """\
# What `pgsr release` needs to know; `pgsr validate` tells what that would be. Names of files are relative to this file.
# Nothing here may be read off the private data: K, epsilon and the regions are decided beforehand.

data_set = "households 2026"     # a public name
max_size = 20                    # K: larger groups count as K
# max_size = {US = 20, state = 7} # or one per level (m_h, m_c_dp, kuo), root first, named by it; they may not rise
# min_size = 1                   # no group has fewer members, which is public: smaller sizes are 0, at no cost
epsilon = "1"                    # in quotes, so that it stays exact: "0.1", "1/3"
# delta = "1e-8"                 # beside epsilon; or instead of both, in zCDP:
# rho = "1/10"
# unit = "group"                 # whom it hides: entity, "entity in 5 groups", or a group with all its members; then
# relation = "replace"           #   what may become of it: replace, add_remove or move
mechanism = "posterior"          # m_h, m_c_dp, kuo, bottom_up, posterior or two_stage; `pgsr plan` tells the errors
threshold = "root"               # not m_h, m_c_dp: cumulative counts of sizes below a threshold, ranks beyond it; those
#                                #   of all regions follow from the root, which is measured first; or a public size,
#                                #   such as 12; cumulative counts of all sizes if left out
shares = "root"                  # the root also chooses how levels share epsilon, if this is the whole budget; or they
#                                #   are stated, root first: ["1/5", "1/5", "3/5"]; equal parts if left out
# totals = "regions"             # whose number of groups is public: root (m_h, m_c_dp), regions (kuo, bottom_up),
#                                #   either (posterior, two_stage), or "noisy" where the table of groups is private
# intervals = "9/10"             # columns lower and upper: 90 % intervals of all counts, from the noisy values alone

output = "release"               # a folder that does not exist yet
ledger = "ledger.jsonl"          # what was spent on this data set; `pgsr ledger init` makes it; it is never published
# log = "release-private.log"    # numbers that are not for publication
# level_names = ["US", "state"]  # public names of levels; else the level columns below, or level_0, ...
# sign = "publisher.key"         # file of the private key that signs the release

# [publication]                  # what readers are told, in your words
# group_name = "households"      # instead of "groups"
# entity_name = "persons"        # instead of "members"
# publisher = "Office of Statistics"
# contact = "data@office.example"
# licence = "CC-BY-4.0"

[entities]                       # private: one row per entity. Or [tuples]: user, unit, region, quantity, max_quantity
file = "entities.parquet"        # or .csv; patterns such as "people/*.parquet" are fine
entity = "entity"                # its column of ids; "" if every row is an entity of its own
group = "group"
# connection = "people.duckdb"   # instead of file: a DuckDB database file, opened read-only, and a query of which a
# query = "select * from people" #   row is what is protected
# cast = {group = "integer"}     # or "text": columns to be read as whole numbers (7, not 007) or as text
# kind = "csv"                   # or "parquet", where the name of the file does not end so
# delimiter = ";"                # of a CSV file, which is read exactly as declared: these signs are otherwise , and "
# quote = "'"                    #   ("" for files without quotes)
# escape = "\\"                  #   what stands before a quote sign inside quotes; if left out, the sign is doubled
# encoding = "cp1252"            #   if it is not UTF-8
# header = false                 #   if its first line holds no names of columns; then
# columns = ["entity", "group"]  #   they are these
# nulls = ["", "NA"]             #   texts that stand for a missing value

[groups]                         # public: one row per group, groups without entities too. Read by the same keys
file = "groups.parquet"
group = "group"
region = "region"                # or a column per level: ["nation", "state"], without [regions]
# private = true                 # then totals = "noisy"

[regions]                        # public: one row per region, no parent at the root
file = "regions.csv"
region = "region"
parent = "parent"
# levels = ["nation", "state"]   # instead of parent: a column of names per level, and ids in `region`
# pad_ragged = true              # branches of different depth

# [limits]
# gibibytes = 6                  # memory for reading
"""
