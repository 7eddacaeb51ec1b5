package spatial

import _ "embed" // for the chapter

// Chapter is the case's README, in Markdown.
//
//go:embed README.md
var Chapter string
