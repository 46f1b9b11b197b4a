"""Research: put one question to all sources at once and write one report in which every statement names its source.

Sources are memories, notes, code, docs, history and, if asked for, the web. `question` parses the question and scans
the files, `sources`, `code` and `setup` search, `conflicts` compares what was found, `run` puts it together, `report`
formats and saves.
"""
