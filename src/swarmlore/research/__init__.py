"""Research: one question put to all that is known here (memories, notes, code, docs, history, the web if asked), side
by side, and one report in which every statement has its source.

`question` is what is looked for, `scan` reads the files once for all, `code`, `syntax`, `constants`, `docs`, `setup`,
`built_with`, `learnings`, `history` and `web` find,
`answer` chooses, `conflicts` compares, `report` writes, `running` puts them together.
"""
